"""The strings of the Train tab. Key -> language -> text."""

STRINGS: dict[str, dict[str, str]] = {
    "tab.train": {"en": "Train", "zh-CN": "训练"},
    "train.target": {"en": "Target model", "zh-CN": "目标模型"},
    "train.target.info": {"en": "The model to train a draft head for.", "zh-CN": "为其训练草稿头的模型。"},
    "train.name": {"en": "Name of the head", "zh-CN": "草稿头名称"},
    "train.name.info": {
        "en": "Its folder among your models. The same name again goes on with a training.",
        "zh-CN": "它在模型目录中的文件夹名。再次使用同名则接着训练。",
    },
    "train.prompts": {"en": "Choose a prompts file", "zh-CN": "选择提示词文件"},
    "train.prompts.none": {
        "en": "No file: the target writes all prompts itself.",
        "zh-CN": "未选文件：全部提示词由目标模型自己写。",
    },
    "train.prompts.some": {"en": "{name}: {n} prompts, answered first.", "zh-CN": "{name}：{n} 条提示词，最先作答。"},
    "train.temperatures": {"en": "Temperatures", "zh-CN": "温度"},
    "train.temperatures.info": {
        "en": "Those the head will be used at, with commas.",
        "zh-CN": "草稿头将要使用的温度，用逗号分隔。",
    },
    "train.tokens": {"en": "Answer tokens", "zh-CN": "回答词元数"},
    "train.tokens.info": {
        "en": "2,000,000 or more for a good head; a few thousand to see how it goes.",
        "zh-CN": "好的草稿头需 2,000,000 以上；几千个可先试试流程。",
    },
    "train.max_length": {"en": "Longest exchange", "zh-CN": "最长对话"},
    "train.max_length.info": {"en": "Prompt and answer, in tokens.", "zh-CN": "提示词与回答合计的词元数。"},
    "train.vocab": {"en": "Draft vocabulary", "zh-CN": "草稿词表"},
    "train.vocab.info": {
        "en": "The most frequent tokens, which the head can draft.",
        "zh-CN": "草稿头能起草的最常用词元。",
    },
    "train.passes": {"en": "Passes, at most", "zh-CN": "最多轮数"},
    "train.passes.info": {
        "en": "It stops earlier when held-out acceptance no longer rises.",
        "zh-CN": "留出数据上的接受率不再上升时会提前停止。",
    },
    "train.start": {"en": "Train", "zh-CN": "开始训练"},
    "train.stop": {"en": "Stop", "zh-CN": "停止"},
    "train.use": {"en": "Use in Compare", "zh-CN": "用于对比"},
    "train.empty": {
        "en": "Trains an EAGLE-3 draft head for the target, from text that the target writes itself: no data set, no "
        "hub. The work goes on when this page is closed, and can be stopped and continued.",
        "zh-CN": "为目标模型训练 EAGLE-3 草稿头，所用文本由目标模型自己写成：不需要数据集，也不访问 hub。"
        "关闭此页面后仍会继续，可以停止，也可以接着训练。",
    },
    "train.honest": {
        "en": "On a CPU a good head takes many hours, on a GPU one or two. The same on the command line:",
        "zh-CN": "在 CPU 上训练好的草稿头要很多小时，在 GPU 上一两个小时。命令行方式：",
    },
    "train.busy": {
        "en": "Training needs the device to itself while it computes; runs wait for it.",
        "zh-CN": "训练计算时独占设备；运行需要等待。",
    },
    "train.stage.start": {"en": "Starting", "zh-CN": "正在启动"},
    "train.stage.device": {"en": "Waiting for the device", "zh-CN": "等待设备"},
    "train.stage.load": {"en": "Loading the target", "zh-CN": "加载目标模型"},
    "train.stage.write": {"en": "Writing prompts and answers", "zh-CN": "书写提示词与回答"},
    "train.stage.states": {"en": "Computing hidden states", "zh-CN": "计算隐藏状态"},
    "train.stage.train": {"en": "Training the head", "zh-CN": "训练草稿头"},
    "train.stage.report": {"en": "Measuring", "zh-CN": "测量"},
    "train.left": {"en": "about {time} left", "zh-CN": "约剩 {time}"},
    "train.count": {"en": "{done} of {total}", "zh-CN": "{done} / {total}"},
    "train.state.running": {"en": "Training", "zh-CN": "训练中"},
    "train.state.done": {"en": "Done", "zh-CN": "已完成"},
    "train.state.cancelled": {
        "en": "Stopped. Train with the same settings goes on from the last checkpoint.",
        "zh-CN": "已停止。以相同设置再次训练将从最近的检查点继续。",
    },
    "train.state.failed": {"en": "Failed", "zh-CN": "失败"},
    "train.history": {"en": "Held-out acceptance while training", "zh-CN": "训练中留出数据的接受率"},
    "train.history.help": {
        "en": "Share of the head's best guesses that the target had written, given that those before were right.",
        "zh-CN": "草稿头最佳猜测与目标所写一致的比例（以之前各位置均正确为前提）。",
    },
    "train.col.step": {"en": "step", "zh-CN": "步"},
    "train.col.position": {"en": "position {n}", "zh-CN": "位置 {n}"},
    "train.col.tokens": {"en": "tokens per step", "zh-CN": "每步词元数"},
    "train.col.speedup": {"en": "predicted speed-up", "zh-CN": "预测加速比"},
    "train.report": {"en": "What it promises here", "zh-CN": "在此机器上的预期"},
    "train.report.help": {
        "en": "A prediction from held-out text and from the time of a pass on {hardware}; run Compare to measure it.",
        "zh-CN": "由留出文本以及 {hardware} 上每次前向的用时推算。请用“对比”实测。",
    },
    "train.report.data": {
        "en": "{tokens} answer tokens in {exchanges} exchanges; the draft vocabulary covers {coverage} of them. "
        "{params} million parameters, {steps} steps in {time}.",
        "zh-CN": "{exchanges} 段对话共 {tokens} 个回答词元，草稿词表覆盖 {coverage}。"
        "{params} 百万参数，{steps} 步，用时 {time}。",
    },
    "train.folder": {"en": "Folder", "zh-CN": "文件夹"},
}
