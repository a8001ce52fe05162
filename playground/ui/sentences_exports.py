"""Why an export cannot say something, and what it is valid for, in Chinese, by the exporters' own English."""

CHINESE: dict[str, str] = {
    "our schema": "本项目的规则",
    "Measured without speculation: {speed} tokens per second.": "不用推测解码测得：每秒 {speed} 个词元。",
    "Measured {speed} tokens per second, with nothing to compare with: whether speculation pays is not known.": (
        "测得每秒 {speed} 个词元，没有可比的对象：不知道推测解码是否划算。"
    ),
    "Measured {speedup}×: as fast with speculation as without.": "测得 {speedup}×：用与不用推测解码一样快。",
    "Measured {speedup}×: slower with speculation than without.": "测得 {speedup}×：用推测解码比不用更慢。",
    "Measured {speedup}×: faster with speculation than without.": "测得 {speedup}×：用推测解码比不用更快。",
    "Nothing was drafted: this speed says nothing of speculation.": "没有起草任何词元：这个速度说明不了推测解码。",
    "Other programs held the processor for {wait} of the decode time: this is not this machine's speed.": (
        "其他程序在解码时间的 {wait} 内占用处理器：这不是本机的速度。"
    ),
    "The run's own counts do not agree: it is not valid.": "该运行自身的计数不一致：结果无效。",
    "The answers with and without speculation were not the same.": "用与不用推测解码的回答不相同。",
    "The run was stopped before its end.": "该运行在结束前被停止。",
    (
        "A step gave {tokens} tokens, and speculation can gain no more than that: the rest of the {speedup}× is "
        "noise. Measure again."
    ): ("每步得到 {tokens} 个词元，推测解码的加速不可能超过它：{speedup}× 中其余部分是噪声。请重新测量。"),
    "{given} GPUs are reserved, and the parallel sizes use {needed}: the others stay idle.": (
        "预留了 {given} 个 GPU，而并行设置只用 {needed} 个：其余的闲置。"
    ),
    "it can only be sent with each request, as the request file does": "只能随每个请求发送，见请求文件",
    "a server has no default for it: {only}": "服务器没有它的默认值：{only}",
    "{system} has no such setting": "{system} 没有这项设置",
    "{system} has no setting that means the same; nearest is {relative}": (
        "{system} 没有含义相同的设置；最接近的是 {relative}"
    ),
    (
        "transformers still drafts the token that the draft was unsure of, then stops; where scikit-learn is installed "
        "it moves the threshold as it goes"
    ): ("transformers 仍会起草那个没有把握的词元，然后停下；装有 scikit-learn 时阈值会随运行改变"),
    (
        "the preset is for the {engine} engine; {system}'s own kernels and scheduler have other speeds, and may decide "
        "a near-tie between two tokens otherwise"
    ): ("预设针对 {engine} 引擎；{system} 自己的内核与调度速度不同，两个词元几乎并列时也可能选另一个"),
    "raw prompts: send requests to the server's completions endpoint, as the request file does": (
        "原始提示词：请把请求发到服务器的 completions 端点，见请求文件"
    ),
    "a setting of the measurement, not of a server": "属于测量的设置，服务器没有",
    "this folder may not be there on the server: name the server's own": (
        "服务器上可能没有这个文件夹：请填写服务器上的"
    ),
    "“{model}” is only a name here: name the model's folder or hub id on the server": (
        "“{model}”在这里只是名称：请填写服务器上的模型文件夹或 hub id"
    ),
    "llama.cpp b10434 and later": "llama.cpp b10434 及以后",
    "llama.cpp b11434 and later": "llama.cpp b11434 及以后",
    "SGLang 0.5.23": "SGLang 0.5.23",
    "TensorRT-LLM 1.3 and later (PyTorch backend)": "TensorRT-LLM 1.3 及以后（PyTorch 后端）",
    "TensorRT-LLM 1.2 (PyTorch backend)": "TensorRT-LLM 1.2（PyTorch 后端）",
    "vLLM 0.32": "vLLM 0.32",
    "vLLM's GGUF support is experimental: name a safetensors model in its place": (
        "vLLM 对 GGUF 的支持尚属实验：请改填一个 safetensors 模型"
    ),
    "raw prompts: send requests to /v1/completions, as the request file does": (
        "原始提示词：请把请求发到 /v1/completions，见请求文件"
    ),
    "vLLM takes {least} for anything between 0 and that": "vLLM 会把 0 与 {least} 之间的值都当作 {least}",
    "caps every request of this server, also one that asks for more": (
        "成为该服务器所有请求的上限，要求更多的请求也不例外"
    ),
    "a server can only cap all requests (the vLLM export has that choice, cap_max_tokens); as a default {only}": (
        "服务器只能给所有请求设上限（vLLM 导出有此选项 cap_max_tokens）；作为默认值{only}"
    ),
    (
        "suffix_decoding_max_cached_requests is 0, as in the preset, so that every answer is drafted from itself "
        "alone; a server gains by drafting from earlier answers too: vLLM's own default keeps {n} of them."
    ): (
        "suffix_decoding_max_cached_requests 与预设一样为 0，因此每个回答只从自身起草；"
        "服务器若也从以前的回答起草会更快：vLLM 自己的默认值保留 {n} 个。"
    ),
    "the server needs one more package: pip install {package}": "服务器还需要一个软件包：pip install {package}",
    "the preset leaves it open; {value}, vLLM's own, is written": "预设未指定；写入 vLLM 自己的默认值 {value}",
    "vLLM runs method {method} on its older model runner, which does not honour min_p while it speculates": (
        "vLLM 用旧的 model runner 运行方法 {method}，推测解码时不理会 min_p"
    ),
    "a setting of the measurement, or one that vLLM's serve file has not": (
        "属于测量的设置，或 vLLM 的配置文件没有的设置"
    ),
    "{method} drafts without a model": "{method} 起草不用模型",
    "in vLLM a draft model must run on as many devices as the target, so {n} is left out": (
        "vLLM 中草稿模型与目标模型的设备数必须相同，因此不写入 {n}"
    ),
    "in vLLM a draft of method {method} always runs on one device": "vLLM 中方法 {method} 的草稿总在一个设备上运行",
    "vLLM takes the earliest match, so other tokens are drafted; the output is the same": (
        "vLLM 取最早的匹配，因此起草的词元不同；输出相同"
    ),
    "vLLM's {method} has no such option": "vLLM 的 {method} 没有这个选项",
    "Docker Compose 2.24 and later": "Docker Compose 2.24 及以后",
    "Kubernetes 1.27 and later": "Kubernetes 1.27 及以后",
    "production-stack chart 0.1.12": "production-stack chart 0.1.12",
    "llm-d-modelservice chart of April 2026": "2026 年 4 月的 llm-d-modelservice chart",
    "requests of CPU, memory and disk are guesses: size them to the model and to your nodes": (
        "CPU、内存与磁盘的申请量只是估计：请按模型与节点调整"
    ),
    "the chart fetches hf:// from the hub: name a hub id, or write a pvc:// uri": (
        "chart 从 hub 获取 hf://：请填写 hub id，或改用 pvc:// 地址"
    ),
    (
        "the server's own image lacks {package}: build one with the Dockerfile beside, push it, and put your registry "
        "for {placeholder}"
    ): ("服务器自己的镜像缺少 {package}：请用附带的 Dockerfile 构建并推送，再把 {placeholder} 换成您的镜像仓库"),
    (
        "the preset's method is hybrid, which looks up first ({lookup}) and drafts by its model where nothing is "
        "found; only the model's half is written: that changes the speed, not the output"
    ): ("预设的方法为 hybrid：先查找（{lookup}），找不到时由模型起草；只写入模型这一半：影响速度，不影响输出"),
    "it belongs to the lookup, which is left out": "属于查找部分，未写入",
    "The model's name {name} holds characters that cannot be shown.": "模型名称 {name} 含有无法显示的字符。",
    "Name it as the server knows it, with {flag}.": "请用 {flag} 写出服务器上的名称。",
    "{name} is no name of a model.": "{name} 不是模型名称。",
    "Name it in one line, without spaces at its ends.": "请写在一行内，首尾不留空格。",
    "This preset drafts without a model, so none can be named “{name}”.": (
        "该预设起草不用模型，因此没有模型可命名为“{name}”。"
    ),
    "Leave out the draft's name.": "请留空草稿模型的名称。",
    "A preset calls its models as they were measured.": "预设按测量时的名称称呼模型。",
    "Leave out the server's names for them, or choose a server to export for.": (
        "请留空服务器上的名称，或选择要导出到的服务器。"
    ),
    "no volume of this file holds it: mount one at this path": "此文件没有包含它的卷：请在该路径挂载一个",
    (
        "llama-server reads GGUF only, and “{model}” is not called one: name a GGUF file, or a repository of them "
        "(org/model-GGUF)"
    ): ("llama-server 只读 GGUF，而“{model}”不是 GGUF 的名称：请填写 GGUF 文件，或 GGUF 仓库（org/model-GGUF）"),
    "llama-server reads GGUF only: name the GGUF that stands for “{model}”": (
        "llama-server 只读 GGUF：请填写“{model}”对应的 GGUF"
    ),
    "the preset leaves it open; 1 is written, since the context is shared out among the slots": (
        "预设未指定；写入 1，因为上下文由各槽位分享"
    ),
    "llama-server has no degree of it: choose --split-mode and --tensor-split for your devices": (
        "llama-server 没有并行数：请按设备选择 --split-mode 与 --tensor-split"
    ),
    "ngram-simple matches one length only, the longest: it drafts less often": (
        "ngram-simple 只匹配一种长度，即最长的：起草次数更少"
    ),
    "which match is taken cannot be said: other tokens may be drafted; the output is the same": (
        "无法指定取哪处匹配：起草的词元可能不同；输出相同"
    ),
    "a preset file holds one stop string, the first; the command line holds all {n}": (
        "预设文件只能写一个停止字符串，即第一个；命令行写有全部 {n} 个"
    ),
    "number formats are a property of the GGUF file: choose its quantisation": "数字格式由 GGUF 文件决定：请选择其量化",
    "this file may not be there on the server: name the server's own": ("服务器上可能没有这个文件：请填写服务器上的"),
    "the slots share the model's own context: give the preset a context limit, or set --ctx-size": (
        "各槽位分享模型自身的上下文：请给预设一个上下文上限，或设置 --ctx-size"
    ),
    "llama-server's seeds have 32 bits": "llama-server 的随机种子只有 32 位",
    "Ollama with draft_num_predict": "支持 draft_num_predict 的 Ollama",
    "number formats are a property of the model file: choose its quantisation": "数字格式由模型文件决定：请选择其量化",
    "this place may not be there on the server: name the server's own": ("服务器上可能没有这个位置：请填写服务器上的"),
    "name the model as Ollama knows it, or a GGUF file or safetensors folder": (
        "请填写 Ollama 中的模型名称，或 GGUF 文件、safetensors 文件夹"
    ),
    "a Modelfile cannot hold a text with three quotes, or quotes at its ends": (
        "Modelfile 写不下含三个引号或首尾带引号的文本"
    ),
    "a Modelfile holds no stop string with quotes, line ends or control characters": (
        "Modelfile 写不下含引号、换行或控制字符的停止字符串"
    ),
    "a Modelfile names no draft model": "Modelfile 不能指定草稿模型",
    "name the safetensors model in its place, or add load-format: gguf": (
        "请改填 safetensors 模型，或加上 load-format: gguf"
    ),
    "as a default it reaches only the native /generate; requests to the OpenAI endpoints must send it": (
        "作为默认值只对原生的 /generate 有效；发往 OpenAI 端点的请求必须自带"
    ),
    "SGLang takes none above 2: 2 is written": "SGLang 不接受大于 2 的值：写入 2",
    "NGRAM has no shortest match any more": "NGRAM 已没有最短匹配",
    "NGRAM drafts from a trie over the texts it has generated, not by lookup in the prompt: acceptance differs": (
        "NGRAM 从已生成文本的字典树起草，而不是在提示词中查找：接受率不同"
    ),
    "the preset leaves it open; {n}, SGLang's own with speculation, is written": (
        "预设未指定；写入 SGLang 推测解码时自己的默认值 {n}"
    ),
    (
        "{share:g} was a share for everything; SGLang's mem-fraction-static is for weights and KV cache alone: it is "
        "left to SGLang's own estimate"
    ): ("{share:g} 是全部用途的占比；SGLang 的 mem-fraction-static 只计权重与 KV 缓存：交由 SGLang 自行估计"),
    "accepts tokens that the target would not choose": "会接受目标模型不会选的词元",
    "TensorRT-LLM reads no GGUF: name a safetensors model in its place": (
        "TensorRT-LLM 不读 GGUF：请改填一个 safetensors 模型"
    ),
    (
        "{share:g} was a share of the whole GPU; here the share is of what is left beside the weights, and its own "
        "default {default} is written"
    ): ("{share:g} 是整个 GPU 的占比；此处的占比只计权重之外的剩余部分，写入其默认值 {default}"),
    "on the PyTorch backend it is read from the checkpoint: name a quantised one": (
        "PyTorch 后端从检查点读取：请填写已量化的检查点"
    ),
    "the preset leaves it open; {n} is written: size max_batch_size to your load": (
        "预设未指定；写入 {n}：请按负载设定 max_batch_size"
    ),
    "{method} drafts without a model of its own": "{method} 起草不用单独的模型",
    "NGram matches down to one token; it has no minimum": "NGram 会匹配到一个词元为止；没有最短长度",
    "rejection sampling needs FlashInfer in the server's image": "拒绝采样要求服务器镜像中有 FlashInfer",
    "raised to {n}, so that drafts fit": "提高到 {n}，以容纳草稿",
    ("while it speculates TensorRT-LLM {dialect} refuses requests with a penalty, so the request file holds none"): (
        "推测解码时 TensorRT-LLM {dialect} 拒绝带惩罚的请求，因此请求文件不写惩罚"
    ),
    "its suffix automaton is a relative, not the same algorithm: measure acceptance again": (
        "它的后缀自动机相近但不是同一算法：请重新测量接受率"
    ),
    (
        "above 0 a draft token is kept only if the target samples the very same one: the law of the output is the "
        "same, but fewer are accepted than by rejection sampling; the temperature itself: {only}"
    ): ("温度大于 0 时，只有目标模型恰好采样到同一词元才保留草稿：输出分布相同，但接受的比拒绝采样少；温度本身{only}"),
    "transformers 5.16 to 5.24": "transformers 5.16 至 5.24",
    "“{model}” is only a name here: name a folder or hub id": "“{model}”在这里只是名称：请填写文件夹或 hub id",
    "{program}'s own parser": "{program} 自己的解析器",
    "a GGUF needs from_pretrained(folder, gguf_file=...): name a folder instead": (
        "GGUF 需要 from_pretrained(folder, gguf_file=...)：请改填文件夹"
    ),
    "the assistant samples as the target does, so at a temperature other tokens are drafted": (
        "assistant 与目标模型一样采样，因此有温度时起草的词元不同"
    ),
    "set_seed takes 32 bits: the lower ones are written": "set_seed 只接受 32 位：写入低位",
    "generate has no such penalty": "generate 没有这种惩罚",
    "prompt lookup there matches down to one token": "那里的提示词查找会匹配到一个词元为止",
    "prompt lookup there takes the earliest match": "那里的提示词查找取最早的匹配",
}
