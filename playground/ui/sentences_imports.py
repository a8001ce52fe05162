"""What an import had to rewrite, in Chinese, by the importers' own English."""

CHINESE: dict[str, str] = {
    "It sets no sampling: neutral values are taken, temperature 1.": "其中没有采样设置：取中性值，温度为 1。",
    "Left out, they belong to the server and not to a preset: {keys}.": "已略去，它们属于服务器而不属于预设：{keys}。",
    "Left out, not known here: {keys}.": "已略去，此处不认识：{keys}。",
    "Left out of {what}: {keys}.": "从 {what} 中略去：{keys}。",
    "Not given, so {system}'s own defaults are written out: {values}.": (
        "未给出，因此写明 {system} 自己的默认值：{values}。"
    ),
    "{key} {value} is another name of {name}.": "{key} {value} 是 {name} 的另一名称。",
    "{key} is kept knowingly: {what}.": "知情保留 {key}：{what}。",
    "{old} is now {new} ({why}).": "{old} 现为 {new}（{why}）。",
    "{key} is left out: {why}.": "略去 {key}：{why}。",
    "belonged to typical acceptance, which changed the output": "属于会改变输出的典型接受",
    "the only block manager there is now": "现在只有这一种 block manager",
    "an implementation detail that is gone": "已不存在的实现细节",
    "token trees are gone; drafts are chains": "词元树已取消；草稿是链",
    "log-probabilities no longer cost extra": "对数概率不再有额外开销",
    "gone; num_speculative_tokens_per_batch_size takes its place, set it by hand": (
        "已取消；由 num_speculative_tokens_per_batch_size 取代，请手动设置"
    ),
    "only exact acceptance is left": "现在只有精确接受",
    "Synthetic acceptance is left out: it writes text that is wrong on purpose.": (
        "略去合成接受：它会故意写出错误的文本。"
    ),
    "speculative_model “{model}” is now method ngram of speculative_config (since vLLM 0.8).": (
        "speculative_model“{model}”现为 speculative_config 的方法 ngram（自 vLLM 0.8）。"
    ),
    "{old} is now inside speculative_config (since vLLM 0.8).": "{old} 现位于 speculative_config 内（自 vLLM 0.8）。",
    "model “{model}” of speculative_config is now method ngram.": (
        "speculative_config 的 model“{model}”现为方法 ngram。"
    ),
    "The lookup range is written out as vLLM takes it: {low} to {high}.": (
        "查找范围按 vLLM 的理解写明：{low} 至 {high}。"
    ),
    "num_speculative_tokens is not given: {n}, the depth of the tree, is written out.": (
        "未给出 num_speculative_tokens：写明树的深度 {n}。"
    ),
    "{key} is not given: {n}, vLLM's default, is written out.": "未给出 {key}：写明 vLLM 的默认值 {n}。",
    (
        "With {key} {n} that server also drafts from its last {n} answers. Runs here are to be independent: the "
        "embedded engine drafts from a run's own prompt and answer, which a server does with 0."
    ): (
        "{key} 为 {n} 时，该服务器还会从最近 {n} 个回答起草。此处的运行应互不影响：内置引擎只从本次运行的提示词与回"
        "答起草，服务器设为 0 时才如此。"
    ),
    "{old} is now {new} of speculative_config.": "{old} 现为 speculative_config 的 {new}。",
    "{old} is now {new} of speculative_config (since vLLM 0.8).": (
        "{old} 现为 speculative_config 的 {new}（自 vLLM 0.8）。"
    ),
    "method {method} is now {new}.": "方法 {method} 现为 {new}。",
    "method {method} ignores it": "方法 {method} 不理会它",
    "{key} changed the output; that is not carried over.": "{key} 会改变输出；此效果不予保留。",
    "No method was given: draft_model is taken; name it if the draft is an EAGLE, Medusa or MTP head.": (
        "未给出方法：取 draft_model；若草稿是 EAGLE、Medusa 或 MTP 头，请写明。"
    ),
    "No method was given: ngram is taken, since there is a lookup range and no draft model.": (
        "未给出方法：取 ngram，因为有查找范围而没有草稿模型。"
    ),
    "Read from the command of service {name}; its container is left out.": "读自服务 {name} 的命令；容器部分略去。",
    "Only this container is read; left out: {names}.": "只读取这个容器；略去：{names}。",
    "The service extends another, which is not read: what that one says is missing.": (
        "该服务扩展了另一个服务，后者未被读取：其中的内容缺失。"
    ),
    "The service's env_file is not read: LLAMA_ARG_ variables there are missing.": (
        "未读取该服务的 env_file：其中的 LLAMA_ARG_ 变量缺失。"
    ),
    "Only this service is read; left out: {names}.": "只读取这个服务；略去：{names}。",
    "Read from the values of production-stack; what the chart adds is left out.": (
        "读自 production-stack 的 values；chart 另加的部分略去。"
    ),
    "Read from the decode values of llm-d; what the chart adds is left out.": (
        "读自 llm-d 的 decode values；chart 另加的部分略去。"
    ),
    "Of {n} commands only the first is read.": "{n} 条命令中只读取第一条。",
    "Of {n} models only the first is read.": "{n} 个模型中只读取第一个。",
    "Read from container {name}; the pod around it is left out.": "读自容器 {name}；外层的 pod 略去。",
    "the draft has the target's context by now": "草稿现在与目标模型的上下文相同",
    "removed in April 2026": "旧名于 2026 年 4 月移除",
    "Only the first model is read; left out: {names}.": "只读取第一个模型；略去：{names}。",
    "synthetic acceptance writes text that is wrong on purpose, to time a server": (
        "合成接受会故意写出错误的文本，用于给服务器计时"
    ),
    "spec-draft-n-min {n} is left out: presets use every draft.": "略去 spec-draft-n-min {n}：预设使用每个草稿。",
    (
        "spec-type is not given: draft-simple is taken. Since April 2026 llama-server loads such a draft and does not "
        "use it."
    ): ("未给出 spec-type：取 draft-simple。自 2026 年 4 月起 llama-server 会加载这样的草稿但不使用。"),
    "Of several spec-types {chosen} is taken, {rest} is left out: presets hold one method.": (
        "多个 spec-type 中取 {chosen}，略去 {rest}：预设只有一种方法。"
    ),
    "spec-type {old} is now {new} (May 2026).": "spec-type {old} 现为 {new}（2026 年 5 月）。",
    "spec-type {kind} is read as method ngram, its nearest relative: acceptance differs.": (
        "spec-type {kind} 读作最相近的方法 ngram：接受率不同。"
    ),
    "The lookup's length is not given: {n}, its default, is written out.": "未给出查找长度：写明其默认值 {n}。",
    "The draft's length is not given: {n}, its default, is written out.": "未给出草稿长度：写明其默认值 {n}。",
    "Penalties looked back {n} tokens there; here they look at everything.": (
        "那里的惩罚只回看 {n} 个词元；此处回看全部。"
    ),
    "Its samplers apply the temperature last; here it comes before top-k, top-p and min-p.": (
        "那里的采样器最后才用温度；此处温度先于 top-k、top-p 与 min-p。"
    ),
    "prompt_lookup_min is not given: {n}, the default then, is written out.": (
        "未给出 prompt_lookup_min：写出当时的默认值 {n}。"
    ),
    "spec-draft-n-max is not given: {k}, the default then, is written out.": (
        "未给出 spec-draft-n-max：写明当时的默认值 {k}。"
    ),
    "spec-draft-n-max is not given: {k}, the default now, is written out.": (
        "未给出 spec-draft-n-max：写明现在的默认值 {k}。"
    ),
    (
        "spec-draft-p-min {stop:g} is left out: it ended drafts where the draft model was unsure; vLLM drafts k tokens."
    ): ("略去 spec-draft-p-min {stop:g}：它在草稿模型没有把握时停止起草；vLLM 总起草 k 个词元。"),
    "spec-draft-p-min is not given: {stop:g}, the default then, is taken.": (
        "未给出 spec-draft-p-min：取当时的默认值 {stop:g}。"
    ),
    "It will run here on the engine {engine}, not on {system}: the embedded engine has no {what}.": (
        "在此处将由引擎 {engine} 运行，而非 {system}：内置引擎没有 {what}。"
    ),
    "It will run here on the engine {engine}, not on {system}: that engine has all that the file asks for.": (
        "在此处将由引擎 {engine} 运行，而非 {system}：文件所要求的该引擎都有。"
    ),
    (
        "match most_recent is kept for such a server; vLLM takes the earliest match: leave it out to run the preset "
        "here."
    ): "为此类服务器保留 match most_recent；vLLM 取最早的匹配：若要在此处运行该预设，请去掉它。",
    "max_tokens is not given: {n}, the default of a preset, is taken.": "未给出 max_tokens：取预设的默认值 {n}。",
    "The command names the file {file}, which did not come along: what it says is missing.": (
        "命令指明了文件 {file}，但它没有一并提供：其中的内容缺失。"
    ),
    "{key} {value} is taken: {why}.": "取 {key} {value}：{why}。",
    "llama-server matches one length only": "llama-server 只匹配一种长度",
    "llama-server takes the most recent match": "llama-server 取最近的匹配",
    "vLLM has no other; llama-server takes the most recent match": "vLLM 只有这一种；llama-server 取最近的匹配",
    "the default of a preset": "预设的默认值",
    "it is not given, and Ollama has a default of its own": "未给出，而 Ollama 有自己的默认值",
    "NGRAM drafts from a trie, where matches have no order": "NGRAM 从字典树起草，其中的匹配没有先后",
    "speculative-ngram-max-trie-depth is not given: {n}, SGLang's default, is taken.": (
        "未给出 speculative-ngram-max-trie-depth：取 SGLang 的默认值 {n}。"
    ),
    "max_matching_ngram_size is not given: {n}, the default there, is taken.": (
        "未给出 max_matching_ngram_size：取那里的默认值 {n}。"
    ),
    "do_sample is not on: temperature 0 is taken; top_p, top_k and min_p are not used there.": (
        "没有打开 do_sample：取温度 0；那里不用 top_p、top_k 与 min_p。"
    ),
    "a second drafter beside the first, which presets do not hold": "第一个之外的又一个起草器，预设没有这一项",
    "it is no key of speculative_config any more": "它已不是 speculative_config 的键",
    "the only way by now": "现在只有这一种方式",
    "draft_num_predict is read as method mtp, prediction layers inside the model.": (
        "draft_num_predict 读作方法 mtp，即模型自带的预测层。"
    ),
    "a share for weights and KV cache alone, no one else's share means that": (
        "只计权重与 KV 缓存的占比，其他系统的占比含义不同"
    ),
    "NGRAM drafts as long as speculative-num-draft-tokens says": "NGRAM 的草稿长度由 speculative-num-draft-tokens 决定",
    "its name by now": "现在的名称",
    "Keys with underscores are read; SGLang itself takes them with dashes only.": (
        "已读取带下划线的键；SGLang 自己只接受连字符。"
    ),
    "speculative-algorithm LOOKAHEAD is now NGRAM.": "speculative-algorithm LOOKAHEAD 现为 NGRAM。",
    "The draft's length is left to SGLang: its usual choice, 3 steps, is taken.": (
        "草稿长度交由 SGLang 决定：取其通常的 3 步。"
    ),
    "A tree of {tokens} tokens, {width} wide, becomes a chain of its {steps} steps: presets draft chains.": (
        "{tokens} 个词元、宽 {width} 的树改为 {steps} 步的链：预设的草稿是链。"
    ),
    "The draft's length is left to the checkpoint: 15 is taken, set it by hand.": (
        "草稿长度由检查点决定：取 15，请手动设置。"
    ),
    "speculative-num-draft-tokens is not given: SGLang's default for NGRAM, 12, is taken.": (
        "未给出 speculative-num-draft-tokens：取 SGLang 对 NGRAM 的默认值 12。"
    ),
    "NGRAM's drafts are trees here; presets draft chains.": "这里 NGRAM 的草稿是树；预设的草稿是链。",
    "speculative-ngram-max-match-window-size is now said by speculative-ngram-max-trie-depth (0.5.23).": (
        "speculative-ngram-max-match-window-size 现由 speculative-ngram-max-trie-depth 表示（0.5.23）。"
    ),
    (
        "Without `{key}` the model's own generation_config.json fills what is open; a preset leaves nothing open, so "
        "an export of it writes neutral values in place of the model's own."
    ): (
        "没有 `{key}` 时，未指定的值由模型自己的 generation_config.json 填充；预设不留空，因此由它导出的文件"
        "会写入中性值，取代模型自己的值。"
    ),
    "with enable-dp-attention it lies within tp-size, which counts all GPUs": (
        "打开 enable-dp-attention 时它包含在 tp-size 之内，后者计入全部 GPU"
    ),
    "{algorithm} does not use it": "{algorithm} 不使用它",
    "speculative-num-draft-tokens says the length": "长度由 speculative-num-draft-tokens 决定",
    "{key} names the model": "模型由 {key} 指明",
    (
        "Its {n} slots share one cache (kv-unified), which presets do not hold: an export gives each slot a whole "
        "context of its own."
    ): "它的 {n} 个槽位共用一个缓存（kv-unified），预设没有这一项：导出时每个槽位各有一份完整的上下文。",
    "num_nextn_predict_layers overwrites it in 1.2": "在 1.2 中它被 num_nextn_predict_layers 覆盖",
    "DRAFT is read as method draft_model, by a model of its own.": "DRAFT 读作方法 draft_model，即用单独的草稿模型。",
    "draft_num_predict is not given: {n}, the default there, is taken.": (
        "未给出 draft_num_predict：取那里的默认值 {n}。"
    ),
    "draft_num_predict 0 turns it off": "draft_num_predict 0 将其关闭",
    "assistant_confidence_threshold is not given: {p:g}, the default there, is taken.": (
        "未给出 assistant_confidence_threshold：取那里的默认值 {p:g}。"
    ),
    "{name}: names no model, unless {word} is one: it stands behind {flag}, which is not known here.": (
        "{name}：没有指明模型，除非 {word} 就是：它在 {flag} 之后，而此处不认识这个参数。"
    ),
    "Put the model first, right behind `vllm serve`.": "请把模型放在最前，紧跟 `vllm serve`。",
    "speculative-num-draft-tokens {tokens} is taken as {n}, as SGLang does for a chain.": (
        "speculative-num-draft-tokens {tokens} 按 {n} 计，SGLang 对链也是如此。"
    ),
    "a threshold of {threshold:g} accepts tokens that the target would not choose": (
        "阈值 {threshold:g} 会接受目标模型不会选的词元"
    ),
    "now sa_config.threshold, a second drafter that presets do not hold": (
        "现为 sa_config.threshold，即预设所没有的第二个起草器"
    ),
    "relaxed acceptance is not on": "没有打开放宽接受",
    "presets draft chains": "预设的草稿是链",
    "presets hold one draft length for every load": "预设在任何负载下草稿长度相同",
    "presets never switch speculation off": "预设不会中途关闭推测解码",
    "a property of the draft": "由草稿模型决定",
    "a pool that requests share": "请求共享的池",
    "how it is computed, not what": "只关乎如何计算，不关乎结果",
    "the same as max_draft_len": "与 max_draft_len 相同",
    "token trees are gone in 1.4; drafts are chains": "词元树在 1.4 中已取消；草稿是链",
    "a no-op by now": "现已不起作用",
    "whether requests with a penalty are taken, not what they say": "只关乎是否接受带惩罚的请求",
    "how weights are read": "只关乎如何读取权重",
    "The file names no target model, trtllm-serve takes it on its command line; {target} stands in.": (
        "文件没有指明目标模型，trtllm-serve 从命令行得到它；以 {target} 代替。"
    ),
    (
        "free_gpu_memory_fraction {share} is left out: a share of what the weights leave, no one else's share means "
        "that."
    ): ("略去 free_gpu_memory_fraction {share}：它是权重之外剩余部分的占比，其他系统的占比含义不同。"),
    "max_draft_len is not given: 1 is taken, set it by hand.": "未给出 max_draft_len：取 1，请手动设置。",
    "decoding_type {old} is now {new}.": "decoding_type {old} 现为 {new}。",
    "since {release}": "自 {release}",
    "relaxed acceptance takes tokens that are not the target's": "放宽接受会采用并非目标模型的词元",
    "typical acceptance took tokens that the target would not choose": "典型接受会采用目标模型不会选的词元",
    "Typical acceptance has no successor on the PyTorch backend: exact acceptance takes its place.": (
        "PyTorch 后端没有典型接受的后继：以精确接受代替。"
    ),
    "{key} of speculative_config is left out: {why}.": "略去 speculative_config 的 {key}：{why}。",
    "num_assistant_tokens is not given: 20, the default, is written out; it also changes by itself.": (
        "未给出 num_assistant_tokens：写明默认值 20；它还会自行变化。"
    ),
    "top_k is not given: 50, the default of generate, is written out.": "未给出 top_k：写明 generate 的默认值 50。",
    "it is no plain value in the snippet": "它在代码片段中不是字面值",
    "Of {n} calls the one in line {line} is read.": "{n} 个调用中读取第 {line} 行的那个。",
    "max_new_tokens capped every request of the server; here it is max_tokens of the run.": (
        "max_new_tokens 原是服务器所有请求的上限；此处作为本次运行的 max_tokens。"
    ),
    "SamplingParams sets no max_tokens: vLLM's default there, {n}, is taken.": (
        "SamplingParams 没有设置 max_tokens：取 vLLM 在此处的默认值 {n}。"
    ),
}
