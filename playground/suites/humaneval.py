"""OpenAI HumanEval: `task_id`, `prompt` (a function's head and docstring, to be continued). The prompt as it stands."""

from playground.suites import Prompt, Row, label_of, text_of

TITLE = "HumanEval"
PRIORITY = 20


def matches(row: Row) -> bool:
    return "task_id" in row and "prompt" in row


def read(row: Row, number: int) -> Prompt:
    name = label_of(row, "task_id", default=str(number))
    return Prompt(id=name, category=label_of(row, "category", default="code"), turns=(text_of(row, "prompt"),))
