"""How the page looks: Gradio's theme and all of our CSS. Knows no component.

System fonts only (no request leaves the machine), one accent, and the Okabe-Ito hues for tokens and charts, tuned so
that text keeps AA contrast in light and dark. Every colour of ours is a CSS variable of `style.css`.
"""

from pathlib import Path

import gradio as gr

from playground.ui.i18n import language_script
from playground.ui.render import lines_of_code

_HERE = Path(__file__).parent

SANS = (
    "ui-sans-serif",
    "system-ui",
    "-apple-system",
    "Segoe UI",
    "Roboto",
    "Noto Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Noto Sans CJK SC",
    "sans-serif",
)
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "DejaVu Sans Mono", "Noto Sans Mono CJK SC", "monospace")

CSS: str = "\n".join(lines_of_code(_HERE / name) for name in ("style.css", "token_pane.css", "inspector.css"))
"""All of the page's CSS. Use it through `HEAD`: Gradio rewrites what it gets as `css=` and drops @container rules."""

HEAD: str = f"<style>\n{CSS}\n</style>\n<script>\n{language_script()}\n</script>"
"""What `launch(head=...)` or `mount_gradio_app(head=...)` takes: the CSS and the language script."""


def theme() -> gr.themes.Base:
    """The Gradio theme that goes with `CSS`."""
    return gr.themes.Base(
        primary_hue=gr.themes.colors.sky,
        neutral_hue=gr.themes.colors.slate,
        text_size=gr.themes.sizes.text_sm,
        spacing_size=gr.themes.sizes.spacing_sm,
        radius_size=gr.themes.sizes.radius_md,
        font=SANS,
        font_mono=MONO,
    ).set(
        body_background_fill="#f6f7f9",
        body_background_fill_dark="#0f1318",
        body_text_color="#1b2430",
        body_text_color_dark="#e3e8ee",
        body_text_color_subdued="#5a6675",
        body_text_color_subdued_dark="#9aa7b5",
        background_fill_primary="#ffffff",
        background_fill_primary_dark="#161b22",
        background_fill_secondary="#f0f2f5",
        background_fill_secondary_dark="#1d242d",
        border_color_primary="#d9dee5",
        border_color_primary_dark="#2c3540",
        block_background_fill="#ffffff",
        block_background_fill_dark="#161b22",
        block_border_width="0px",
        block_shadow="none",
        block_label_text_weight="500",
        block_title_text_weight="500",
        input_background_fill="#ffffff",
        input_background_fill_dark="#10151b",
        input_border_color="#cfd6de",
        input_border_color_dark="#333d49",
        color_accent="#0b6bab",
        color_accent_soft="#e3f0fa",
        color_accent_soft_dark="#123049",
        slider_color="#0b6bab",
        slider_color_dark="#58b0ea",
        button_primary_background_fill="#0b6bab",
        button_primary_background_fill_hover="#095a91",
        button_primary_background_fill_dark="#0b6bab",
        button_primary_background_fill_hover_dark="#0e7cc4",
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark="#ffffff",
        button_secondary_background_fill="#e9edf1",
        button_secondary_background_fill_hover="#dde3e9",
        button_secondary_background_fill_dark="#252d37",
        button_secondary_background_fill_hover_dark="#303a46",
        button_secondary_text_color="#1b2430",
        button_secondary_text_color_dark="#e3e8ee",
        link_text_color="#0b6bab",
        link_text_color_dark="#6bbcf0",
    )
