"""CNN/DailyMail and the like: an `article` column; the prompt asks for its summary."""

from playground.suites import Prompt, Row, label_of, text_of

TITLE = "CNN/DailyMail"
PRIORITY = 30

INSTRUCTION = "Summarise this article in three sentences.\n\n"


def matches(row: Row) -> bool:
    return "article" in row


def read(row: Row, number: int) -> Prompt:
    name = label_of(row, "id", default=str(number))
    category = label_of(row, "category", default="summarise")
    return Prompt(id=name, category=category, turns=(INSTRUCTION + text_of(row, "article"),))
