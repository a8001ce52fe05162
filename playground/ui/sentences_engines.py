"""What the embedded engine, its process, the queue and the device say, in Chinese, by their own English."""

CHINESE: dict[str, str] = {
    # The queue and the process
    "Draftboard itself failed: {kind}: {error}.": "Draftboard 自身出错：{kind}：{error}。",
    "Its log says more; please report it.": "日志中有详情，请反馈此问题。",
    "The server's log says more; please report it.": "服务器日志中有详情，请反馈此问题。",
    "Please report it.": "请反馈此问题。",
    "The prompt has {n:,} characters, more than {most:,}.": "提示词有 {n:,} 个字符，超过上限 {most:,}。",
    "Shorten it.": "请缩短。",
    "The prompt holds half a character (a lone surrogate).": "提示词中有不完整的字符（孤立的代理码位）。",
    "Type or paste it again.": "请重新输入或粘贴。",
    "There is nothing to compare: no drafting method is chosen.": "没有可比较的内容：未选择起草方法。",
    "Choose a method.": "请选择一种方法。",
    "Choose one.": "请选择一种。",
    "Draftboard is shutting down.": "Draftboard 正在关闭。",
    "Start it again.": "请重新启动它。",
    "There is a run {id} already.": "运行 {id} 已存在。",
    "Give the run a new id.": "请为该运行换一个 id。",
    "Not run, since the arm before it failed.": "前一侧失败，因此没有运行。",
    "The engine {engine} has no drafting method called “{method}”.": "引擎 {engine} 没有名为“{method}”的起草方法。",
    "The engine {engine} has no method “{method}”.": "引擎 {engine} 没有方法“{method}”。",
    "The method {method} needs a draft model.": "方法 {method} 需要草稿模型。",
    "Choose a smaller model with the target's tokenizer, or a method without a model such as ngram.": (
        "请选择与目标模型分词器相同的较小模型，或 ngram 等无需模型的方法。"
    ),
    "The engine was closed.": "引擎已关闭。",
    "Run again to start it afresh.": "再次运行即可重新启动它。",
    "Run again: the engine is started afresh.": "请再次运行：引擎会重新启动。",
    "The engine's process {how}.": "引擎的进程{how}。",
    "The engine's process {how}; its last lines: {lines}.": "引擎的进程{how}；最后的输出：{lines}。",
    "was killed by {signal}": "被 {signal} 终止",
    "was killed by signal {number}": "被信号 {number} 终止",
    "ended with exit code {number}": "已退出，退出码 {number}",
    "The system kills a process like this when memory runs out: choose a smaller model or a shorter context, or close "
    "other programs, and run again.": (
        "内存耗尽时系统会这样终止进程：请选择更小的模型或更短的上下文，或关闭其他程序，然后再次运行。"
    ),
    "The engine's process cannot be started: {why}.": "无法启动引擎的进程：{why}。",
    "Close other programs, or raise this user's limits on processes and open files.": (
        "请关闭其他程序，或提高该用户的进程数与打开文件数上限。"
    ),
    "The engine ran out of memory{detail}.": "引擎内存不足{detail}。",
    ": {words}": "：{words}",
    "Choose a smaller model, a smaller dtype or a shorter context, or close what else uses the device.": (
        "请选择更小的模型、更小的 dtype 或更短的上下文，或关闭占用该设备的其他程序。"
    ),
    "The engine needs the Python package {package}, which is not installed.": (
        "引擎需要 Python 包 {package}，但尚未安装。"
    ),
    "Install it: pip install {package}": "请安装：pip install {package}",
    "The engine failed with {name}: {why}.": "引擎出错（{name}）：{why}。",
    "no further word": "没有更多说明",
    "Try other settings; if it stays, report it with this message.": "请换用其他设置；若仍出现，请附上此信息反馈。",
    # The device
    "The device {wanted} is not here.": "没有设备 {wanted}。",
    "Set DRAFTBOARD_DEVICE to auto, cpu, cuda or mps.": "请将 DRAFTBOARD_DEVICE 设为 auto、cpu、cuda 或 mps。",
    "The lock file {path} cannot be opened: {why}.": "无法打开锁文件 {path}：{why}。",
    "Give its folder to this user, or choose another with DRAFTBOARD_DATA=/some/folder.": (
        "请把其文件夹的权限给该用户，或用 DRAFTBOARD_DATA=/some/folder 另选一个。"
    ),
    "Waiting for {device}, {holder}.": "正在等待 {device}（{holder}）。",
    "used by process {pid}: {purpose}": "被进程 {pid} 占用：{purpose}",
    "used by another process": "被另一进程占用",
    # Loading
    "Starting the engine's process.": "正在启动引擎的进程。",
    "Starting PyTorch.": "正在启动 PyTorch。",
    "Loading {target}.": "正在加载 {target}。",
    "Loading the draft model {name}.": "正在加载草稿模型 {name}。",
    "Warming up.": "正在预热。",
    "Warming up {name}.": "正在预热 {name}。",
    "Warming up for {n} draft tokens.": "正在为 {n} 个草稿词元预热。",
    "Ending {engine} with {target}.": "正在结束 {engine}（{target}）。",
    "Ready.": "就绪。",
    "The model “{name}” cannot be loaded. {what}": "无法加载模型“{name}”。{what}",
    "Give another folder.": "请换一个文件夹。",
    "The {part} of “{name}” cannot be loaded: {why}.": "无法加载“{name}”的{part}：{why}。",
    "tokenizer": "分词器",
    "model": "模型",
    "Check that it is a whole causal language model in safetensors or GGUF; download it again if not.": (
        "请确认它是完整的因果语言模型（safetensors 或 GGUF）；若不是，请重新下载。"
    ),
    "The model “{name}” keeps its state in a way this engine cannot continue from.": (
        "模型“{name}”保存状态的方式使该引擎无法接续。"
    ),
    "Choose a model with attention layers, or another engine.": "请选择使用注意力层的模型，或换用其他引擎。",
    "The model “{name}” lacks {n} of its weights ({first}, ...): it would run on random ones.": (
        "模型“{name}”缺少 {n} 个权重（{first} 等）：它会用随机权重运行。"
    ),
    "Download it again, whole.": "请重新完整下载。",
    "The model “{name}” wants to run Python of its own, which is not allowed.": (
        "模型“{name}”要运行自带的 Python 代码，这不被允许。"
    ),
    "Choose another model; an operator who has read its code may set DRAFTBOARD_TRUST_REMOTE_CODE=true.": (
        "请选择其他模型；运维者读过其代码后，可设置 DRAFTBOARD_TRUST_REMOTE_CODE=true。"
    ),
    "drafting method": "起草方法",
    "{model} keeps a state that cannot be rewound (linear attention or Mamba layers).": (
        "{model} 保存着无法回退的状态（线性注意力或 Mamba 层）。"
    ),
    "Choose a draft model with attention layers only.": "请选择只含注意力层的草稿模型。",
    "Run it without speculation, or choose a target with attention layers only.": (
        "请不用推测解码运行，或选择只含注意力层的目标模型。"
    ),
    # Heads
    "The head “{name}” was made for a target with {what} {needs:,}; {target} has {has:,}.": (
        "草稿头“{name}”所适用的目标模型{what} {needs:,}；{target} 为 {has:,}。"
    ),
    "hidden states of width": "隐藏状态宽度为",
    "a vocabulary of": "词表大小为",
    "A head drafts only for the model it was trained on; choose that target, or train a head for this one.": (
        "草稿头只能为训练它的模型起草；请选择那个目标模型，或为此模型训练草稿头。"
    ),
    "The method {method} drafts with {wanted}; {name} is {given}.": "方法 {method} 用{wanted}起草；{name} {given}。",
    "an EAGLE-3 head": " EAGLE-3 草稿头",
    "a draft model with the target's tokenizer": "与目标模型分词器相同的草稿模型",
    "no head": "不是草稿头",
    "a head": "是草稿头",
    "Choose another draft, or the method {other}.": "请选择其他草稿，或方法 {other}。",
    # The run
    "The prompt is empty.": "提示词为空。",
    "Write something for the model to continue.": "请写一些内容供模型续写。",
    "The target's chat template refuses this prompt: {why}.": "目标模型的聊天模板拒绝此提示词：{why}。",
    "Leave the system prompt empty, or switch the chat template off.": "请将系统提示词留空，或关闭聊天模板。",
    "The target has no chat template; the prompt is sent raw.": "目标模型没有聊天模板；提示词原样发送。",
    "The system prompt is left out: there is no chat template to put it in.": (
        "略去系统提示词：没有可放置它的聊天模板。"
    ),
    "The tokenizer gives id {id}, the target model knows {rows} ids.": (
        "分词器给出 id {id}，而目标模型只有 {rows} 个 id。"
    ),
    "Tokenizer and model do not belong together; download the model again.": "分词器与模型不匹配；请重新下载模型。",
    "The prompt has {n:,} tokens, the context of {target} holds {limit:,} with the answer.": (
        "提示词有 {n:,} 个词元，而 {target} 的上下文连同回答只能容纳 {limit:,} 个。"
    ),
    "Shorten the prompt, or choose a model with a longer context.": "请缩短提示词，或选择上下文更长的模型。",
    "The context of {limit:,} tokens leaves {room:,} for the answer, not {wanted:,}.": (
        "{limit:,} 个词元的上下文只给回答留下 {room:,} 个，而非 {wanted:,} 个。"
    ),
    "The draft model reads {window:,} tokens, the prompt has {prompt:,}: nothing is drafted.": (
        "草稿模型最多读 {window:,} 个词元，而提示词有 {prompt:,} 个：不起草。"
    ),
    "The draft model reads {window:,} tokens: nothing is drafted past that.": (
        "草稿模型最多读 {window:,} 个词元：此后不再起草。"
    ),
    "Target and draft differ in padding of the vocabulary only.": "目标与草稿仅在词表填充上不同。",
    "The draft has another chat template (or none); the target's is used for both.": (
        "草稿的聊天模板不同（或没有）；两者都使用目标模型的。"
    ),
    "The draft has another BOS token; the target's is used for both.": "草稿的 BOS 词元不同；两者都使用目标模型的。",
    "The {who} model gave logits that are not numbers (NaN or infinite).": (
        "模型（{who}）给出的 logits 不是有效数字（NaN 或无穷）。"
    ),
    "Try dtype float32; if it stays, the model's weights are damaged.": (
        "请尝试 dtype float32；若仍出现，则模型权重已损坏。"
    ),
    "The drafter proposed {proposed} tokens where {k} were asked.": (
        "起草方法给出 {proposed} 个词元，而要求的是 {k} 个。"
    ),
    "This is a defect of the drafting method; report it.": "这是起草方法的缺陷，请反馈。",
    "The shown text is not the one-shot decoding of the delivered tokens.": (
        "显示的文本与交付词元的一次性解码结果不一致。"
    ),
    "The engine counted {counted} delivered tokens, the steps hold {held}.": (
        "引擎统计交付了 {counted} 个词元，各步合计为 {held} 个。"
    ),
    "The engine counted {name} = {counted}, the steps hold {held}.": (
        "引擎统计的 {name} 为 {counted}，各步合计为 {held}。"
    ),
    # Canned streams
    "Canned text: nothing here is measured.": "预制文本：此处没有任何测量。",
    "Pretending: {stage} of {model}.": "模拟中：{model} 的 {stage}。",
    "The model {model} cannot be loaded.": "无法加载模型 {model}。",
    "It was asked to fail; choose no failure.": "这是按要求失败；请选择不失败。",
    "The target gave no valid numbers (NaN).": "目标模型给出的不是有效数字（NaN）。",
    "Try dtype float32.": "请尝试 dtype float32。",
    "The run failed half-way, as asked.": "运行按要求中途失败。",
    "Choose no failure.": "请选择不失败。",
}
