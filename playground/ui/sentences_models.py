"""What is said of models, heads and files of prompts, in Chinese, by its own English."""

CHINESE: dict[str, str] = {
    # The catalogue
    "{what} {fix}": "{what}{fix}",
    "Not prepared yet.": "尚未准备。",
    "Run `python -m playground models prepare`.": "请运行 `python -m playground models prepare`。",
    "The default model {name} is not prepared yet.": "默认模型 {name} 尚未准备。",
    "Run `python -m playground models prepare` once (`make run` does).": (
        "请运行一次 `python -m playground models prepare`（`make run` 会执行它）。"
    ),
    "There is no model “{reference}” here.": "本机没有模型“{reference}”。",
    "Give a name from `python -m playground models` ({known}), a folder, a GGUF file or a hub id like org/name.": (
        "请给出 `python -m playground models` 中的名称（{known}）、文件夹、GGUF 文件或 org/name 形式的 hub id。"
    ),
    "{reference} is not on this machine, and asking a hub is switched off.": (
        "{reference} 不在本机，且访问 hub 已关闭。"
    ),
    "Download it into a model folder, or start with DRAFTBOARD_OFFLINE=false.": (
        "请将其下载到模型文件夹，或以 DRAFTBOARD_OFFLINE=false 启动。"
    ),
    "It has no readable config.json.": "没有可读的 config.json。",
    "Give the folder of a Hugging Face model.": "请给出 Hugging Face 模型的文件夹。",
    "Its weights are pickled, which can run code when opened.": "其权重为 pickle 格式，打开时可能运行代码。",
    "Convert them to safetensors.": "请转换为 safetensors。",
    "It has no *.safetensors file.": "没有 *.safetensors 文件。",
    "Download its weights.": "请下载其权重。",
    "It has no tokenizer.": "没有分词器。",
    "Copy tokenizer.json and tokenizer_config.json into the folder.": (
        "请将 tokenizer.json 与 tokenizer_config.json 复制到该文件夹。"
    ),
    "{n} of its weight files are missing ({first}, ...).": "缺少 {n} 个权重文件（{first} 等）。",
    "Download them.": "请下载这些文件。",
    "The default model could not be downloaded: {last}": "无法下载默认模型：{last}",
    "Check the network and run it again, or name a model folder of your own with --target.": (
        "请检查网络后重新运行，或用 --target 指定自己的模型文件夹。"
    ),
    "The default model could not be converted: {last}": "无法转换默认模型：{last}",
    "Run `make clean run` to start over.": "请运行 `make clean run` 重新开始。",
    "The prepared model is not whole: {problem}": "准备好的模型不完整：{problem}",
    "Try again.": "请再试。",
    # Files
    "{file} {what}.": "{file} {what}。",
    "{file} cannot be read: {why}.": "无法读取 {file}：{why}。",
    "Check its permissions.": "请检查其权限。",
    "Download it again.": "请重新下载。",
    "unknown error": "未知错误",
    "cannot be read ({why})": "无法读取（{why}）",
    "is only part of the file": "只是文件的一部分",
    "is no ordinary file": "不是普通文件",
    "is larger than {mib:.0f} MiB": "超过 {mib:.0f} MiB",
    "is a link that leads nowhere": "是失效的链接",
    "is not UTF-8 text": "不是 UTF-8 文本",
    "is not valid JSON": "不是有效的 JSON",
    "holds no JSON object": "不含 JSON 对象",
    "is nested too deeply": "嵌套过深",
    "is not a safetensors file": "不是 safetensors 文件",
    "cannot be read as safetensors": "无法按 safetensors 读取",
    "tokenizer.model is too large.": "tokenizer.model 过大。",
    "is no GGUF file we can read ({why})": "不是可读取的 GGUF 文件（{why}）",
    "no GGUF mark": "没有 GGUF 标记",
    "version {version}": "版本 {version}",
    "too many entries": "条目过多",
    "shape of a tensor": "张量形状有误",
    "an array too long or nested": "数组过长或嵌套",
    "a text too long": "文本过长",
    "it ends too early": "提前结束",
    "value of kind {kind}": "值的类型 {kind}",
    # Vocabularies
    "The draft model cannot draft for this target: {why}": "该草稿模型不能为此目标模型起草：{why}",
    "Choose a draft model of the same family and tokenizer, or method ngram, which needs none.": (
        "请选择同系列、同分词器的草稿模型，或无需模型的方法 ngram。"
    ),
    "Same vocabulary.": "词表相同。",
    "Same tokens; only the padding past them differs.": "词元相同，仅末尾填充不同。",
    "These are different vocabularies: {what}": "词表不同：{what}",
    "{n:,} token ids mean different strings, the first is {id}: target {target}, draft {draft}.": (
        "{n:,} 个词元 id 对应的字符串不同，首个为 {id}：目标 {target}，草稿 {draft}。"
    ),
    "has no such id": "没有此 id",
    "Choose another draft.": "请选择其他草稿。",
    "Nothing is known against this pair.": "没有已知的不利之处。",
    # Heads
    "The head “{name}” cannot be loaded: {what}.": "无法加载草稿头“{name}”：{what}。",
    "Download it again, or choose another.": "请重新下载，或选择其他草稿头。",
    "The head “{name}” has no *.safetensors file.": "草稿头“{name}”没有 *.safetensors 文件。",
    "Download it whole.": "请完整下载。",
    "The head “{name}” has no *.safetensors file, only pickled weights.": (
        "草稿头“{name}”没有 *.safetensors 文件，只有 pickle 格式的权重。"
    ),
    "Convert it to safetensors: a pickle can run code when it is opened.": (
        "请转换为 safetensors：打开 pickle 文件时可能运行代码。"
    ),
    "The head “{name}” reads hidden states before layers {layers}, the target has {num_layers}.": (
        "草稿头“{name}”读取第 {layers} 层之前的隐藏状态，而目标模型共有 {num_layers} 层。"
    ),
    "It was made for another target; choose the one it names.": "它是为其他目标模型制作的；请选择它所指明的那个。",
    "The head “{name}” is of a kind this engine does not run: {reason}.": (
        "草稿头“{name}”属于该引擎不支持的类型：{reason}。"
    ),
    "Run it with the vLLM engine, or choose an EAGLE-3 head with one Llama layer.": (
        "请用 vLLM 引擎运行，或选择单层 Llama 结构的 EAGLE-3 草稿头。"
    ),
    "it drafts all tokens in one pass": "它一次前向起草全部词元",
    "it has {n} layers, not one": "它有 {n} 层，而非一层",
    "its activation is {activation}": "其激活函数为 {activation}",
    "it reads only the last hidden state": "它只读取最后的隐藏状态",
    "its config.json is not whole ({why})": "其 config.json 不完整（{why}）",
    "its embeddings, or the target's, are of size {found}, it needs {wanted}": (
        "其词嵌入（或目标模型的）大小为 {found}，而它需要 {wanted}"
    ),
    "it has weights that are not numbers": "其权重含无效数字",
    "{weights} do not fit together": "{weights} 彼此不匹配",
    "it lacks {weights}": "缺少 {weights}",
    "it has weights this engine does not know: {weights}": "含该引擎不认识的权重：{weights}",
    "{key} is of size {found}, its config.json says {wanted}": (
        "{key} 的大小为 {found}，而其 config.json 写的是 {wanted}"
    ),
    "it lacks d2t, the map of its reduced vocabulary": "缺少 d2t，即其精简词表的映射",
    "d2t is of size {found}, its config.json says {wanted}": "d2t 的大小为 {found}，而其 config.json 写的是 {wanted}",
    "d2t leads out of the vocabulary, or twice to the same token": "d2t 超出词表，或有两处指向同一词元",
    # Files of prompts
    "There is no suite called “{name}”.": "没有名为“{name}”的提示词集。",
    "Choose one of: {known}; or give the path of a file of prompts.": "可选：{known}；或给出提示词文件的路径。",
    "The suite {suite} has no category “{category}”.": "提示词集 {suite} 没有类别“{category}”。",
    "No prompt is left to run.": "没有剩下可运行的提示词。",
    "Raise the limit or the sample.": "请提高上限或样本数。",
    "{path} holds no prompt.": "{path} 中没有提示词。",
    "Give a file with one prompt a line.": "请给出每行一个提示词的文件。",
    "{path} holds {n:,} prompts, more than {most:,}.": "{path} 有 {n:,} 个提示词，超过上限 {most:,}。",
    "Cut it shorter.": "请缩短。",
    "{name}, line {number}: {what}.": "{name} 第 {number} 行：{what}。",
    "Correct that line and try again.": "请更正该行后再试。",
    "{name} is no whole gzip file.": "{name} 不是完整的 gzip 文件。",
    "{name} is a Parquet file, and pyarrow, which reads them, is not installed.": (
        "{name} 是 Parquet 文件，而读取它所需的 pyarrow 未安装。"
    ),
    "Install it: pip install pyarrow; or save the file as CSV or JSON Lines.": (
        "请安装：pip install pyarrow；或将文件存为 CSV 或 JSON Lines。"
    ),
    "{name} is no readable Parquet file: {why}.": "{name} 不是可读的 Parquet 文件：{why}。",
    "is not JSON": "不是 JSON",
    "is not JSON: {why}": "不是 JSON：{why}",
    "it is nested too deeply": "嵌套过深",
    "is not JSON that can be read": "不是可读的 JSON",
    "must hold a list of rows, is {kind}": "必须是由行组成的列表，实为{kind}",
    "must be an object or a text, is {kind}": "必须是对象或文本，实为{kind}",
    "has more cells than there are headings": "单元格多于表头",
    "is not CSV: {why}": "不是 CSV：{why}",
    "no prompt in it; its keys are {keys}, wanted is prompt, turns, article or messages": (
        "其中没有提示词；其键为 {keys}，应有 prompt、turns、article 或 messages"
    ),
    "{key}: must be text, is {kind}": "{key}：必须是文本，实为{kind}",
    "{key}: is empty": "{key}：为空",
    "{key}: has {n:,} characters, more than {most:,}": "{key}：有 {n:,} 个字符，超过上限 {most:,}",
    "{key}: must be text or a number, is {kind}": "{key}：必须是文本或数字，实为{kind}",
    "{key}: must be a list, is {kind}": "{key}：必须是列表，实为{kind}",
    "{key}: no message of a user in it": "{key}：其中没有用户消息",
    "{where}: must be an object, is {kind}": "{where}：必须是对象，实为{kind}",
    "turns: must be a list of texts, is {kind}": "turns：必须是文本列表，实为{kind}",
    "turns: {n} are more than {most}": "turns：{n} 个超过上限 {most}",
    "missing": "缺失",
    "empty": "空",
    "true or false": "布尔值",
    "a number": "数字",
    "a list": "列表",
    "an object": "对象",
    "text": "文本",
    "none": "无",
    "none yet": "尚无",
}
