"""Any rows with a prompt in them: our own suites (`id`, `category`, `prompt`), tables, lines of a text file."""

from playground.suites import Prompt, Row, label_of, text_of

TITLE = "Prompts (any JSON Lines, CSV, Parquet or text)"
PRIORITY = 90

COLUMNS = ("prompt", "text", "question", "instruction", "input", "query", "content")
"""Names that prompts go by, the most telling first."""


def matches(row: Row) -> bool:
    return any(column in row for column in COLUMNS)


def read(row: Row, number: int) -> Prompt:
    column = next(column for column in COLUMNS if column in row)
    text = text_of(row, column)
    # Alpaca's rows: an instruction, and the text that it is about.
    if column == "instruction" and isinstance(row.get("input"), str) and row["input"].strip():
        text = f"{text}\n\n{row['input']}"
    name = label_of(row, "id", "name", default=str(number))
    return Prompt(id=name, category=label_of(row, "category", "task", "type"), turns=(text,))
