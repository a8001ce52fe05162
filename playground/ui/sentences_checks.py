"""What checks of exported files say, in Chinese, by the checks' own English."""

CHINESE: dict[str, str] = {
    "made for vLLM only": "仅适用于 vLLM",
    "{program} is not installed here": "本机未安装 {program}",
    "the real program's own parser": "该程序自己的解析器",
    "our schema is its parser": "解析它的就是本项目的规则",
    "no parser of it runs on this machine": "本机没有可运行的解析器",
    "the chart puts the command together: export for vLLM to check its settings": (
        "命令由 chart 拼成：请导出为 vLLM 以校验其设置"
    ),
    "inside is another server: export it by itself to check it": "其中是另一种服务器：请单独导出它再校验",
    "{program} cannot be run here: {why}": "本机无法运行 {program}：{why}",
    "it did not start": "没有启动",
    "it took longer than {n} s": "超过 {n} 秒",
    "the inside of method {method} depends on the real models": "方法 {method} 的内部取决于真实模型",
    "the rules of {what} need a GPU": "{what} 的规则需要 GPU",
    "parsed only: its rules need {package}, which is not installed": "仅解析：其规则需要未安装的 {package}",
    "the command line: {error}": "命令行：{error}",
    "the preset file: {error}": "预设文件：{error}",
    "a smoke start of vLLM's server": "试启动 vLLM 服务器",
    "one request: {drafted} tokens drafted, {accepted} accepted": "一个请求：起草 {drafted} 个词元，接受 {accepted} 个",
    "the file does not speculate": "文件没有启用推测解码",
    "method {method} needs heads or weights that the default model has not": (
        "方法 {method} 需要默认模型所没有的草稿头或权重"
    ),
    "the default model {model} is not prepared": "默认模型 {model} 尚未准备",
    "it answered and drafted nothing": "有回答，但没有起草",
    "the server ended while starting": "服务器在启动时退出",
    "the server did not start within {n} s": "服务器在 {n} 秒内没有启动",
    "it did not answer ({error})": "没有回答（{error}）",
    "{what}: {line}": "{what}：{line}",
    "{first}, {second}": "{first}，{second}",
    "There is no such check.": "没有这种校验。",
    "Another check is running: wait for it to end.": "另一项校验正在运行：请等它结束。",
}
