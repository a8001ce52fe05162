"""Draftboard's server: settings -> store -> runner -> page -> served. Wiring only.

`python app.py`, or `python -m playground serve`.
"""

import contextlib
import logging
import signal
import sys
import threading
from collections.abc import AsyncIterator

import uvicorn
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from playground.errors import PlaygroundError
from playground.runner import Runner
from playground.settings import Settings, load_settings
from playground.ui.context import Context
from playground.ui.page import mount, opening_preset
from storage import Store

log = logging.getLogger(__name__)

GRACE = 3
"""Seconds that open connections get when the server is told to stop."""


def build(settings: Settings, store: Store, runner: Runner) -> FastAPI:
    """The web application. When it shuts down it ends the runner, and with it the engine's process."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        threading.Thread(target=preload, args=(settings, runner), name="preload", daemon=True).start()
        yield
        runner.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    # No other origin, ever: by itself Gradio lets in any of them when the host is not localhost.
    app.add_middleware(CORSMiddleware, allow_origins=[])

    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    mount(app, Context.of(settings, store, runner))
    return app


def preload(settings: Settings, runner: Runner) -> None:
    """Loads the engine that the page opens with, so that the first run is quick; what is asked for meanwhile waits."""
    try:
        runner.preload(opening_preset(settings).config)
    except PlaygroundError as error:
        log.warning("The engine was not loaded beforehand: %s", error)


def serve(settings: Settings) -> int:
    """Serves the page until SIGINT or SIGTERM, then ends everything it started; the exit code.

    Raises:
        PlaygroundError: a folder cannot be written, the port is taken, the database cannot be opened.
    """
    settings.check_writable()
    settings.check_port()
    store = Store(settings.database_path)
    runner = Runner(settings, store)
    server = uvicorn.Server(
        uvicorn.Config(
            build(settings, store, runner),
            host=settings.host,
            port=settings.port,
            log_level="warning",
            timeout_graceful_shutdown=GRACE,
        )
    )
    print(f"Draftboard: {address(settings)}", flush=True)
    # uvicorn shuts down on either signal and then raises it once more, for whoever handled it before.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        runner.close()
        store.close()
    return 0


def address(settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def main() -> int:
    try:
        return serve(load_settings())
    except PlaygroundError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
