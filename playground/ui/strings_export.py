"""The strings of the Export tab that came with its targets, checks and imports. Key -> language -> text.

Keys under `shell.` are also sent to the page's own scripts.
"""

STRINGS: dict[str, dict[str, str]] = {
    "export.paste": {"en": "Or paste one", "zh-CN": "或粘贴"},
    "export.paste.placeholder": {
        "en": "vllm serve …, llama-server …, YAML, LLM(…)",
        "zh-CN": "vllm serve …、llama-server …、YAML、LLM(…)",
    },
    "export.model_as": {"en": "Target's name on the server", "zh-CN": "目标模型在服务器上的名称"},
    "export.model_as.info": {
        "en": "Hub id or path there; empty: as it was measured. What was measured is still told.",
        "zh-CN": "hub id 或那里的路径；留空则与测量时相同。仍会写明测量所用的名称。",
    },
    "export.draft_as": {"en": "Draft's name on the server", "zh-CN": "草稿模型在服务器上的名称"},
    "export.read": {"en": "Read", "zh-CN": "读取"},
    "export.keep_lossy": {"en": "Keep what changes the output", "zh-CN": "保留会改变输出的设置"},
    "export.keep_lossy.info": {
        "en": "Relaxed or typical acceptance takes tokens that the target would not choose; otherwise it is refused.",
        "zh-CN": "放宽或典型接受会采用目标模型不会选的词元；不勾选则拒绝导入。",
    },
    "shell.export.checks": {"en": "Checked by", "zh-CN": "校验"},
    "shell.export.outcome.passed": {"en": "passed", "zh-CN": "通过"},
    "shell.export.outcome.refused": {"en": "refused", "zh-CN": "被拒绝"},
    "shell.export.outcome.not-run": {"en": "not run", "zh-CN": "未运行"},
    "shell.export.outcome.running": {"en": "running …", "zh-CN": "运行中……"},
    "shell.export.run.B": {"en": "Check now", "zh-CN": "现在校验"},
    "shell.export.run.C": {"en": "Start it once (minutes)", "zh-CN": "试启动一次（数分钟）"},
    "shell.export.command.first": {
        "en": "First settle what needs your input, then start it with",
        "zh-CN": "请先处理需要您填写的内容，然后用此命令启动",
    },
    "shell.export.zip": {"en": "Download all (zip)", "zh-CN": "全部下载（zip）"},
    "shell.export.files": {"en": "Files", "zh-CN": "文件"},
    "shell.export.changes": {"en": "Changes", "zh-CN": "变化"},
    "shell.export.changes.since": {
        "en": "Lines that differ from the previous export for this system",
        "zh-CN": "与该系统上一次导出不同的行",
    },
    "shell.export.changes.none": {
        "en": "Nothing differs from the previous export for this system",
        "zh-CN": "与该系统上一次导出相同",
    },
    "shell.export.failed": {"en": "The check did not answer.", "zh-CN": "校验没有回应。"},
}
