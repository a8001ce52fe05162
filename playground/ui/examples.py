"""Example prompts by kind, chosen to show where speculation pays (text that repeats) and where it does not (a poem).

Data only.
"""

from typing import NamedTuple


class Example(NamedTuple):
    """One prompt. `kind` names its chip (`example.<kind>` in the strings)."""

    kind: str
    prompt: str


_SHOP = '''\
class Basket:
    """What a customer is about to buy."""

    def __init__(self, owner):
        self.owner = owner
        self.lines = []

    def add(self, name, price, count=1):
        if price < 0:
            raise ValueError("price must not be negative")
        if count < 1:
            raise ValueError("count must be at least one")
        self.lines.append((name, price, count))

    def total(self):
        return sum(price * count for name, price, count in self.lines)

    def receipt(self):
        rows = [f"{name} x {count}: {price * count:.2f}" for name, price, count in self.lines]
        rows.append(f"total: {self.total():.2f}")
        return "\\n".join(rows)'''

_INVENTORY = """\
[
  {"id": 101, "name": "desk lamp", "price": 24.5, "stock": 12, "tags": ["home", "light"]},
  {"id": 102, "name": "floor lamp", "price": 79.0, "stock": 3, "tags": ["home", "light"]},
  {"id": 103, "name": "notebook", "price": 4.2, "stock": 240, "tags": ["office", "paper"]},
  {"id": 104, "name": "fountain pen", "price": 32.0, "stock": 18, "tags": ["office", "writing"]},
  {"id": 105, "name": "ink, blue", "price": 8.9, "stock": 55, "tags": ["office", "writing"]}
]"""

_LIGHTHOUSE = """\
The lighthouse at Kestrel Point was built in 1871, after three grain ships were lost on the reef in one winter. \
Its lamp burned colza oil at first, then paraffin, and was turned by a clockwork that the keeper wound every four \
hours. In 1934 the lamp was made electric, and the last keeper left in 1988, when a computer in the harbour took \
over his duties. The tower is 31 metres high and built of granite that was cut on the mainland and shipped across in \
numbered blocks. Since 2006 it belongs to the island's school, whose pupils measure wind, rain and the height of the \
waves there every day. Their records, now eighteen years long, show that the strongest storms come about nine days \
later in the year than they did in the beginning. The harbour master uses them to say when the boats must be \
pulled ashore."""

_LETTER = """\
Dear neighbours, from Monday on the water will be switched off in our street for three days, each day from nine in the \
morning until four in the afternoon. Please fill a few bottles the evening before. The bakery at the corner will give \
hot coffee to everyone who brings a cup. If you need help carrying water up the stairs, ring at number twelve: my sons \
have strong arms and nothing to do. Thank you for your patience."""

EXAMPLES: tuple[Example, ...] = (
    Example("chat", "Why does the sky look blue at noon and red in the evening? Explain it to a curious ten-year-old."),
    Example("chat", "Write a short poem about a night train that crosses a border nobody can see."),
    Example(
        "code",
        "Write a Python function `merge_intervals(intervals)` that merges overlapping (start, end) pairs and returns "
        "them sorted. Add a docstring and three small tests with assert.",
    ),
    Example(
        "code", "Write a bash script that renames every .jpeg file in a folder to .jpg and says how many it renamed."
    ),
    Example(
        "edit_code",
        "Add type hints to every method of this class and change nothing else. Answer with the whole class.\n\n"
        f"```python\n{_SHOP}\n```",
    ),
    Example(
        "edit_code",
        "In the following JSON, rename the key `stock` to `available` in every object and keep all else as it is. "
        f"Answer with the whole JSON.\n\n```json\n{_INVENTORY}\n```",
    ),
    Example(
        "summarise",
        "Summarise the article below: first quote its three most important sentences word for word, then say in one "
        f"sentence of your own what it is about.\n\n{_LIGHTHOUSE}",
    ),
    Example("translate", f"Translate this letter into French, sentence by sentence.\n\n{_LETTER}"),
    Example("chinese", "请用通俗的中文解释：为什么大语言模型一次只能生成一个词元？推测解码又是怎样让它变快的？"),
)

KINDS: tuple[str, ...] = tuple(dict.fromkeys(example.kind for example in EXAMPLES))


def next_example(kind: str, current: str) -> str:
    """The prompt of that kind after `current`, or its first: a second click on a chip shows another."""
    prompts = [example.prompt for example in EXAMPLES if example.kind == kind]
    place = prompts.index(current) + 1 if current in prompts else 0
    return prompts[place % len(prompts)]
