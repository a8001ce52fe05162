"""The schema of `runs.db` as readable history: one function a migration, never edited once released.

The schema is public API: storage/README.md documents every table, column and view, and a test compares the two. The
comments inside the CREATE statements are kept by SQLite, so that `sqlite3 runs.db .schema` and Datasette show them.
Knows no events and no Python types.
"""

from sqlite_utils import Database, Migrations

from playground.errors import PlaygroundError
from playground.sentence import Sentence
from storage.search import SEARCHED

migrations = Migrations("draftboard")

RUNS = """
CREATE TABLE runs (
    -- AUTOINCREMENT: the number of a deleted run is never given to another, which may still be recording
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- What was asked for
    run_id TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    comparison_id TEXT,
    arm TEXT CHECK (arm IN ('baseline', 'speculative')),
    engine TEXT NOT NULL,
    target TEXT NOT NULL,
    dtype TEXT NOT NULL,
    method TEXT,
    draft_model TEXT,
    num_speculative_tokens INTEGER,
    temperature REAL NOT NULL,
    max_tokens INTEGER NOT NULL,
    -- How it went
    status TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    total_seconds REAL,
    process_id INTEGER,
    process_started REAL,
    -- A cache of playground.metrics.RunResult, of the version beside it
    fold_version INTEGER NOT NULL DEFAULT 0,
    num_prompt_tokens INTEGER,
    num_delivered INTEGER,
    num_delivered_accepted INTEGER,
    num_steps INTEGER,
    num_drafting_steps INTEGER,
    num_draft_tokens INTEGER,
    num_accepted_tokens INTEGER,
    draft_acceptance_rate REAL,
    mean_acceptance_length REAL,
    tokens_per_step REAL,
    draft_share_of_output REAL,
    wasted_draft_fraction REAL,
    ttft REAL,
    tpot REAL,
    tokens_per_second REAL,
    tokens_per_second_end_to_end REAL,
    joules_per_token REAL,
    expected_tokens_per_step REAL,
    mean_draft_seconds REAL,
    mean_verify_seconds REAL,
    reconciled INTEGER,
    problems TEXT,
    -- How it ended, as the engine said it
    error TEXT NOT NULL DEFAULT '',
    hint TEXT NOT NULL DEFAULT '',
    code TEXT NOT NULL DEFAULT '',
    usage_completion_tokens INTEGER,
    engine_counters TEXT,
    reported_reconciled INTEGER,
    reported_problems TEXT,
    started_seq INTEGER,
    exact TEXT,
    -- Long texts last, so that lists never read them
    note TEXT NOT NULL DEFAULT '',
    config TEXT NOT NULL,
    environment TEXT,
    prompt TEXT NOT NULL,
    output TEXT NOT NULL DEFAULT '',
    rendered_prompt TEXT,
    prompt_token_ids TEXT
) STRICT
"""

STEPS = """
CREATE TABLE steps (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    step INTEGER NOT NULL,
    at REAL,
    num_tokens INTEGER NOT NULL,
    num_draft_tokens INTEGER NOT NULL,
    num_accepted_tokens INTEGER NOT NULL,
    truncated TEXT,
    draft_seconds REAL,
    verify_seconds REAL,
    -- JSON: a token is [id, text, origin, target_prob, draft_prob], a candidate [id, text, prob, logit]
    tokens TEXT NOT NULL,
    rejected TEXT,
    logit_gaps TEXT,
    target_candidates TEXT,
    draft_candidates TEXT,
    exact TEXT,
    PRIMARY KEY (run, seq)
) STRICT
"""

SAMPLES = """
CREATE TABLE samples (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    at REAL,
    device TEXT NOT NULL,
    name TEXT NOT NULL,
    utilisation REAL,
    memory_used INTEGER,
    memory_total INTEGER,
    power REAL,
    temperature REAL,
    sm_clock INTEGER,
    memory_clock INTEGER,
    energy REAL,
    exact TEXT,
    PRIMARY KEY (run, seq)
) STRICT
"""

# The newest run of each arm, should a comparison have been tried again under the same id.
COMPARISONS = """
CREATE VIEW comparisons AS
SELECT
    s.comparison_id,
    b.run_id AS baseline_run_id,
    s.run_id AS speculative_run_id,
    s.started_at,
    s.engine,
    s.target,
    s.method,
    s.draft_model,
    s.num_speculative_tokens,
    s.draft_acceptance_rate,
    s.tokens_per_step,
    b.tpot AS baseline_tpot,
    s.tpot AS speculative_tpot,
    CASE WHEN b.status IN ('stop', 'length') AND s.status IN ('stop', 'length')
              AND b.reconciled IS NOT 0 AND s.reconciled IS NOT 0 AND s.tpot > 0
         THEN b.tpot / s.tpot END AS speedup
FROM runs s
JOIN runs b ON b.id = (
    SELECT max(id) FROM runs WHERE comparison_id = s.comparison_id AND arm = 'baseline')
WHERE s.arm = 'speculative'
  AND s.id = (SELECT max(id) FROM runs WHERE comparison_id = s.comparison_id AND arm = 'speculative')
"""

INDEXES = (
    # All that lists filter and sort by: 10,000 runs are read from here in milliseconds, their long texts left alone.
    """
CREATE INDEX runs_list ON runs(
    started_at, ended_at, total_seconds, status, source, comparison_id, arm, engine, target, dtype, method, draft_model,
    num_speculative_tokens, temperature, max_tokens, num_prompt_tokens, num_delivered, num_delivered_accepted,
    num_steps, num_drafting_steps, num_draft_tokens, num_accepted_tokens, draft_acceptance_rate, mean_acceptance_length,
    tokens_per_step, draft_share_of_output, wasted_draft_fraction, ttft, tpot, tokens_per_second,
    tokens_per_second_end_to_end, joules_per_token, expected_tokens_per_step, mean_draft_seconds, mean_verify_seconds,
    reconciled)
""",
    "CREATE INDEX runs_comparison ON runs(comparison_id, arm, status, reconciled, tpot)",
    "CREATE INDEX runs_running ON runs(id) WHERE status = 'running'",
)


@migrations()  # type: ignore[untyped-decorator]
def m001_runs_steps_samples(db: Database) -> None:
    """Runs with their steps and device samples, the pairs among them, and the search over their texts."""
    for statement in (RUNS, STEPS, SAMPLES, COMPARISONS, *INDEXES):
        db.execute(statement.strip())
    _add_search(db)


BENCHMARKS = """
CREATE TABLE benchmarks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    benchmark_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('bench', 'tune')),
    title TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at TEXT NOT NULL,
    ended_at TEXT,
    process_id INTEGER,
    process_started REAL,
    error TEXT NOT NULL DEFAULT '',
    hint TEXT NOT NULL DEFAULT '',
    plan TEXT NOT NULL,
    report TEXT
) STRICT
"""

BENCHMARK_RUNS = """
CREATE TABLE benchmark_runs (
    benchmark INTEGER NOT NULL REFERENCES benchmarks(id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    run_id TEXT NOT NULL UNIQUE,
    phase TEXT NOT NULL,
    item INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    arm TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    candidate INTEGER,
    level INTEGER NOT NULL,
    wave INTEGER,
    cold INTEGER NOT NULL DEFAULT 0,
    wall_seconds REAL,
    PRIMARY KEY (benchmark, place)
) STRICT
"""

# Runs of a benchmark that were planned but not begun, or deleted since, are not here.
BENCHMARK_MEASUREMENTS = """
CREATE VIEW benchmark_measurements AS
SELECT
    b.benchmark_id, b.kind, m.phase, m.item, m.turn, m.arm, m.repeat, m.candidate, m.level, m.wave, m.cold,
    m.wall_seconds, r.run_id, r.status, r.method, r.num_speculative_tokens, r.num_delivered, r.draft_acceptance_rate,
    r.tokens_per_step, r.ttft, r.tpot, r.tokens_per_second, r.joules_per_token
FROM benchmark_runs m
JOIN benchmarks b ON b.id = m.benchmark
JOIN runs r ON r.run_id = m.run_id
"""


@migrations()  # type: ignore[untyped-decorator]
def m002_benchmarks(db: Database) -> None:
    """Benchmarks and tunings: what was planned, which runs belong to it, and the report."""
    for statement in (BENCHMARKS, BENCHMARK_RUNS, BENCHMARK_MEASUREMENTS):
        db.execute(statement.strip())
    db.execute(
        "CREATE TRIGGER runs_benchmark_delete AFTER DELETE ON runs "
        "BEGIN DELETE FROM benchmark_runs WHERE run_id = old.run_id; END"
    )


def _add_search(db: Database) -> None:
    """`runs_fts` beside `runs`, kept by triggers: trigrams, so that any part of a word in any script is found.

    Written out because sqlite-utils' own triggers would index the whole text again at every change of any column.
    Trigrams know no words of one or two characters, common in Chinese: `runs_short` has those (search.py).
    """
    names = ", ".join(SEARCHED)
    new = ", ".join(f"new.{name}" for name in SEARCHED)
    old = ", ".join(f"old.{name}" for name in SEARCHED)
    add = f"INSERT INTO runs_fts(rowid, {names}) VALUES (new.id, {new});"
    remove = f"INSERT INTO runs_fts(runs_fts, rowid, {names}) VALUES ('delete', old.id, {old});"
    db.execute(
        f"CREATE VIRTUAL TABLE runs_fts USING fts5({names}, content='runs', content_rowid='id', tokenize='trigram')"
    )
    db.execute(
        "CREATE VIRTUAL TABLE runs_short USING fts5(grams, detail='none', "
        "tokenize=\"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co Cn'\")"
    )
    db.execute(f"CREATE TRIGGER runs_search_insert AFTER INSERT ON runs BEGIN {add} END")
    db.execute(
        f"CREATE TRIGGER runs_search_delete AFTER DELETE ON runs "
        f"BEGIN {remove} DELETE FROM runs_short WHERE rowid = old.id; END"
    )
    db.execute(f"CREATE TRIGGER runs_search_update AFTER UPDATE OF {names} ON runs BEGIN {remove} {add} END")


def migrate(db: Database) -> None:
    """Bring the file to this version; the caller holds the write lock, so two processes never migrate at once.

    Raises:
        PlaygroundError: the file was written by a newer version ("newer_database"), or by another program
            ("foreign_database").
    """
    ours = {migration.name for migration in migrations.pending(Database(memory=True))}
    applied = {migration.name for migration in migrations.applied(db)}
    if applied - ours:
        raise PlaygroundError(
            Sentence("The database was written by a newer version of Draftboard."),
            Sentence("Update Draftboard, or choose another file with DRAFTBOARD_DATABASE=/some/file.db."),
            code="newer_database",
        )
    if not applied and "runs" in db.table_names():
        raise PlaygroundError(
            Sentence("The database is another program's: it has a table runs that is not Draftboard's."),
            Sentence("Choose another file with DRAFTBOARD_DATABASE=/some/file.db."),
            code="foreign_database",
        )
    migrations.apply(db)
