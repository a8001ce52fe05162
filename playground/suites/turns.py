"""MT-Bench and Spec-Bench: `question_id`, `category`, `turns` (a list of the user's messages). Our own suites too."""

from playground.sentence import Sentence
from playground.suites import MAX_TURNS, Prompt, Row, kind_of, label_of, text_of

TITLE = "MT-Bench, Spec-Bench"
PRIORITY = 10


def matches(row: Row) -> bool:
    return "turns" in row


def read(row: Row, number: int) -> Prompt:
    turns = row["turns"]
    if not isinstance(turns, list) or not turns:
        kind = kind_of(turns) if turns else Sentence("empty")
        raise ValueError(Sentence("turns: must be a list of texts, is {kind}", kind=kind))
    if len(turns) > MAX_TURNS:
        raise ValueError(Sentence("turns: {n} are more than {most}", n=len(turns), most=MAX_TURNS))
    texts = tuple(text_of({f"turns[{i}]": turn}, f"turns[{i}]") for i, turn in enumerate(turns))
    name = label_of(row, "id", "question_id", "task_id", default=str(number))
    return Prompt(id=name, category=label_of(row, "category"), turns=texts)
