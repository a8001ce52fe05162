"""Why a file cannot be imported, or an export cannot be made or written, in Chinese, by its own English."""

CHINESE: dict[str, str] = {
    # Files
    "{path} is {kind}.": "{path} 是{kind}。",
    "a folder": "文件夹",
    "no ordinary file": "特殊文件，而非普通文件",
    "Name a file.": "请指定文件。",
    "{path} cannot be read: {why}.": "无法读取 {path}：{why}。",
    "Check the name and the folder it is looked for in.": "请检查名称与所在的文件夹。",
    "Check the name: a part of it that should be a folder is a file.": "请检查名称：其中应为文件夹的一段是文件。",
    "Let this user read it (chmod u+r), or give its text on standard input: `import -`.": (
        "请允许该用户读取（chmod u+r），或从标准输入给出其文本：`import -`。"
    ),
    "Its links lead in a circle: name the file itself.": "其链接循环指向：请指定文件本身。",
    "Check the name.": "请检查名称。",
    "Copy it to another place and name that.": "请复制到别处后指定那里的文件。",
    "The file's name is not valid.": "文件名无效。",
    "{name} is larger than {mb:g} MB.": "{name} 超过 {mb:g} MB。",
    "A configuration is a few kilobytes.": "配置文件通常只有几 KB。",
    "Check that this is the right file.": "请确认文件无误。",
    "{name} is empty.": "{name} 为空。",
    "{name}, line {line}: holds a NUL byte, so this is no text file.": (
        "{name} 第 {line} 行：含 NUL 字节，不是文本文件。"
    ),
    "{name}, line {line}: not UTF-8 text.": "{name} 第 {line} 行：不是 UTF-8 文本。",
    "Save the file as UTF-8.": "请将文件存为 UTF-8。",
    "No file has been read.": "没有读取任何文件。",
    "Choose one first.": "请先选择一个。",
    # What a file is
    "{name}: this is no configuration we can read.": "{name}：不是可读取的配置。",
    "Known are: {titles}.": "支持：{titles}。",
    "Known are: {known}.": "支持：{known}。",
    "{name}: this is a request to a server, not the configuration of one.": (
        "{name}：这是发给服务器的请求，而非服务器的配置。"
    ),
    "Import the server's file that was written beside it.": "请导入与它一同写出的服务器文件。",
    "{name}: a preset is a mapping of keys to values.": "{name}：预设应为键值映射。",
    "Begin with `name:` and `config:`.": "请以 `name:` 与 `config:` 开头。",
    "{name}: is no mapping of keys to values.": "{name}：不是键值映射。",
    "Give a vLLM configuration.": "请给出 vLLM 配置。",
    "{name}: is no command and no preset file.": "{name}：既不是命令，也不是预设文件。",
    "Give its text.": "请给出其文本。",
    "{name}: starts no server we know.": "{name}：没有启动已知的服务器。",
    "{name}: no container runs a server we know.": "{name}：没有容器运行已知的服务器。",
    "{name}: no service runs a server we know; it has {names}.": "{name}：没有服务运行已知的服务器；其中有 {names}。",
    "no service": "（无服务）",
    "Known are vLLM, SGLang, TensorRT-LLM and llama.cpp.": "支持 vLLM、SGLang、TensorRT-LLM 与 llama.cpp。",
    "{name}: service {service} has no command, so nothing says what its server is to run.": (
        "{name}：服务 {service} 没有命令，无从得知其服务器运行什么。"
    ),
    "Add `command:` with the server's flags.": "请加上含服务器参数的 `command:`。",
    "{name}: speaks of a file, {file}, that is not here.": "{name}：提到的文件 {file} 不在此处。",
    "Import both together, from one folder.": "请从同一文件夹一并导入。",
    # YAML and JSON
    "{name}, line {line}: {problem}.": "{name} 第 {line} 行：{problem}。",
    "{name}, line {line}, {key}": "{name} 第 {line} 行，{key}",
    "{name}, line {line}": "{name} 第 {line} 行",
    "{name}, {key}": "{name}，{key}",
    "{name}, {faults}.": "{name}，{faults}。",
    "line {line}, {key}: {fault}": "第 {line} 行，{key}：{fault}",
    "the document": "文档",
    "this is not YAML": "不是 YAML",
    "{why} (column {column})": "{why}（第 {column} 列）",
    "Correct the YAML.": "请更正 YAML。",
    "Correct the {format} there.": "请更正该处的 {format}。",
    "the {format} ends too early": "{format} 提前结束",
    "Check that the file is whole: a bracket or quote is open.": "请确认文件完整：有未闭合的括号或引号。",
    "holds no YAML document": "不含 YAML 文档",
    "holds more than one YAML document": "含不止一个 YAML 文档",
    "holds more documents than we read": "文档数超过可读取的上限",
    "Give one.": "请只给一个。",
    "its aliases (*name) stand for more than we write out": "其中的别名（*name）展开后超出上限",
    "the alias {alias} stands inside what it is to stand for": "别名 {alias} 位于它所指代的内容之内",
    "the alias {alias} has no anchor before it": "别名 {alias} 之前没有锚点",
    "“<<” merges mappings alone": "“<<”只能合并映射",
    "Name a mapping: `<<: *name`.": "请指明一个映射：`<<: *name`。",
    "Write the value out.": "请直接写出该值。",
    "the tag {tag} is not read": "不读取标签 {tag}",
    "Leave the tag out.": "请去掉该标签。",
    "nested deeper than {most} levels": "嵌套超过 {most} 层",
    "is nested deeper than {most} levels": "嵌套超过 {most} 层",
    "the key {key} is not text": "键 {key} 不是文本",
    "Put the key in quotes.": "请给该键加引号。",
    "{key} is given twice (first in line {first})": "{key} 重复给出（首次在第 {first} 行）",
    "{name}: the key “{key}” is given twice.": "{name}：键“{key}”重复给出。",
    "Keep one of them.": "请只保留一个。",
    "{value} is no number we can read": "{value} 不是可读取的数字",
    "Write a plain decimal number.": "请写普通的十进制数字。",
    "{value} is no finite number": "{value} 不是有限的数字",
    "{name}: {value} is no number.": "{name}：{value} 不是数字。",
    "Write a finite number.": "请写有限的数字。",
    "holds a number of thousands of digits": "含有长达数千位的数字",
    "Write a number of ordinary size.": "请写大小正常的数字。",
    # Commands and snippets
    "{name} {problem}.": "{name} {problem}。",
    "is longer than {most:,} characters": "超过 {most:,} 个字符",
    "Paste the command alone.": "请只粘贴命令。",
    "Paste the call alone.": "请只粘贴该调用。",
    "is no shell command: no closing quotation": "不是 shell 命令：引号未闭合",
    "is no shell command: no closing bracket": "不是 shell 命令：括号未闭合",
    "{name}: the command ends before {flag}, which begins a line of its own.": (
        "{name}：命令在 {flag} 之前就结束了，该参数另起了一行。"
    ),
    "End every line of the command but its last in a backslash, with no blank line or comment between.": (
        "请在命令除最后一行外的每一行末尾写反斜杠，中间不要有空行或注释。"
    ),
    "{name}: the variable {variable} is set in more than one way, and nothing here says which holds.": (
        "{name}：变量 {variable} 有多种取值，此处无法得知取哪一个。"
    ),
    "Check its quotes.": "请检查其引号。",
    "{where} opens a quote and does not close it.": "{where}的引号未闭合。",
    "{name}: the command of service {service}": "{name}：服务 {service} 的命令",
    "holds no llama-server command": "不含 llama-server 命令",
    "holds no sglang command": "不含 sglang 命令",
    "holds no trtllm-serve command": "不含 trtllm-serve 命令",
    "holds no `vllm serve` command": "不含 `vllm serve` 命令",
    "holds no LLM(...) call": "不含 LLM(...) 调用",
    "holds no from_pretrained(...) and generate(...)": "不含 from_pretrained(...) 与 generate(...)",
    "Paste the whole command.": "请粘贴完整命令。",
    "Paste the call with its keywords.": "请粘贴该调用及其关键字参数。",
    "Paste both.": "请一并粘贴两者。",
    "is no Python": "不是 Python",
    "calls generate(...) of a model that no from_pretrained(...) here names": (
        "对某个模型调用了 generate(...)，而此处没有 from_pretrained(...) 写明它"
    ),
    "Paste the from_pretrained(...) of the target model with its name as text.": (
        "请粘贴目标模型的 from_pretrained(...)，模型名写成文本。"
    ),
    "{name}, line {line}: {what} is no plain value in the snippet.": (
        "{name} 第 {line} 行：{what} 在代码片段中不是字面值。"
    ),
    "Write its value there: without it the preset would say something else than the file.": (
        "请在那里写明其值：缺了它，预设所说的就与文件不同。"
    ),
    "Paste whole statements.": "请粘贴完整语句。",
    "has {value} without a flag": "{value} 前没有参数名",
    "llama-server takes flags only.": "llama-server 只接受带参数名的写法。",
    "gives {flag} twice": "重复给出 {flag}",
    "gives --{key} twice": "重复给出 --{key}",
    "gives --{key} whole and in parts": "--{key} 既整体给出又分项给出",
    "{text} is no `key = value`": "{text} 不是 `key = value`",
    "Correct the line.": "请更正该行。",
    "{key} is given twice": "{key} 重复给出",
    "the section {section} is given twice": "小节 {section} 重复给出",
    "{name}: a text in three quotes has no end.": "{name}：三引号文本没有结尾。",
    "Close it.": "请闭合它。",
    "{name}: {key} is given twice.": "{name}：{key} 重复给出。",
    "{name}: {kind} is given twice.": "{name}：{kind} 重复给出。",
    # The model
    "{name}: names no model.": "{name}：没有指明模型。",
    "Begin with FROM.": "请以 FROM 开头。",
    "Add a [section] for one.": "请为其加上 [小节]。",
    "Add `model-path:` with the target model.": "请加上 `model-path:` 指明目标模型。",
    "Add `model:` with the target model.": "请加上 `model:` 指明目标模型。",
    "Add --model or --hf-repo.": "请加上 --model 或 --hf-repo。",
    "Import the preset file itself.": "请导入预设文件本身。",
    "Import the file after --config itself.": "请导入 --config 所指的文件本身。",
    "{name}: servingEngineSpec.modelSpec names no modelURL.": "{name}：servingEngineSpec.modelSpec 没有指明 modelURL。",
    "Add it.": "请加上。",
    "{name}: modelArtifacts names no model.": "{name}：modelArtifacts 没有指明模型。",
    "Add its name.": "请加上其名称。",
    "Put its value there.": "请在该处写出其值。",
    # Values
    "{where}: is given without a value.": "{where}：没有给出值。",
    "Write the value, or leave it out.": "请写出值，或去掉它。",
    "{where}: must be text.": "{where}：必须是文本。",
    "Write one name, in quotes if need be.": "请写一个名称，必要时加引号。",
    "{place}: {number} is less than {least}.": "{place}：{number} 小于 {least}。",
    "Correct it, or leave it out.": "请更正或去掉它。",
    "{place}: {value} is no whole number.": "{place}：{value} 不是整数。",
    "Correct it.": "请更正。",
    "{place}: must be a mapping of keys to values.": "{place}：必须是键值映射。",
    "Write it as nested YAML.": "请写成嵌套的 YAML。",
    "Write it as JSON or as nested YAML.": "请写成 JSON 或嵌套的 YAML。",
    "{place}: is given twice.": "{place}：重复给出。",
    "{where}: {value} is neither true nor false.": "{where}：{value} 既不是 true 也不是 false。",
    "Write true or false.": "请写 true 或 false。",
    "{where}: is longer than {most:,} characters.": "{where}：超过 {most:,} 个字符。",
    "{where}: holds the variable {variable}, and nothing here says its value.": (
        "{where}：含有变量 {variable}，而此处没有给出它的值。"
    ),
    "{name}, {key}: is larger than {most:,}.": "{name}，{key}：大于 {most:,}。",
    "has a space behind the backslash at a line's end, so that the command ends there": (
        "的行尾反斜杠后有空格，命令因此在那里结束"
    ),
    "Remove the space.": "请去掉该空格。",
    "opens a list in brackets and does not close it": "打开了括号列表而没有关闭",
    "Check its brackets.": "请检查括号。",
    "names two models, {first} and {second}": "指明了两个模型：{first} 与 {second}",
    "{path}: nobody of that name has a home here.": "{path}：此处没有该用户的主目录。",
    "Write the whole path, or ./ in front of a name that begins with ~.": (
        "请写完整路径；若名称以 ~ 开头，请在前面加 ./。"
    ),
    "{name}: a PARAMETER has no name.": "{name}：有一个 PARAMETER 没有名称。",
    "Write its name and value, or take the line out.": "请写出名称与值，或删去该行。",
    "{where}: must be text, or a list of texts.": "{where}：须为文本或文本列表。",
    "Write one word of the command in each line.": "请每行写命令的一个词。",
    "{place}: is {value}, but {other} is {held}.": "{place}：为 {value}，而 {other} 为 {held}。",
    "{name}: {old} is {value}, but {new} of speculative_config is {held}.": (
        "{name}：{old} 为 {value}，而 speculative_config 的 {new} 为 {held}。"
    ),
    "{place}: is not a known key.": "{place}：不是已知的键。",
    "Did you mean {close}?": "是否想写 {close}？",
    "{place}: {what}, which changes the output.": "{place}：{what}，这会改变输出。",
    "Remove it, or import it knowingly (--keep-lossy).": "请去掉它，或在知情的情况下导入（--keep-lossy）。",
    "{name}: {what}; vLLM has exact acceptance only by now, so its output will be another.": (
        "{name}：{what}；vLLM 现在只有精确接受，因此输出会不同。"
    ),
    "{key} {value} accepted tokens that the target would not choose": "{key} {value} 会接受目标模型不会选择的词元",
    "Remove it, or import it knowingly (--keep-lossy), with exact acceptance in its place.": (
        "请去掉它，或在知情的情况下导入（--keep-lossy），以精确接受代替。"
    ),
    "{name}: synthetic acceptance writes text that is wrong on purpose, to time a server.": (
        "{name}：合成接受会故意写出错误的文本，用于给服务器计时。"
    ),
    "Remove rejection_sample_method and the synthetic_* keys, or import without them (--keep-lossy).": (
        "请去掉 rejection_sample_method 与 synthetic_* 键，或不带它们导入（--keep-lossy）。"
    ),
    "{place}: {value} is the syntax of ik_llama.cpp, another program.": (
        "{place}：{value} 是另一程序 ik_llama.cpp 的写法。"
    ),
    "Write llama.cpp's own flags (--spec-type draft-mtp --spec-draft-n-max 4).": (
        "请写 llama.cpp 自己的参数（--spec-type draft-mtp --spec-draft-n-max 4）。"
    ),
    "{place}: {kind} is no spec-type we know.": "{place}：{kind} 不是已知的 spec-type。",
    "{place}: {algorithm} is no algorithm we know.": "{place}：{algorithm} 不是已知的算法。",
    "{name}: speculative-num-steps, -eagle-topk and -num-draft-tokens must all be given, or none.": (
        "{name}：speculative-num-steps、-eagle-topk 与 -num-draft-tokens 须全部给出或全不给出。"
    ),
    "SGLang stops at a part of them; add the missing ones.": "只给一部分时 SGLang 会停止；请补上缺少的。",
    "{place}: {given} {why}.": "{place}：{given} {why}。",
    "is no decoding_type we know": "不是已知的 decoding_type",
    "existed only for engines built ahead, and is gone": "只用于预先构建的引擎，已被移除",
    "leaves the method to the server": "把方法交由服务器决定",
    "is Python code of its own": "是自带的 Python 代码",
    "does not speculate": "不做推测解码",
    # Exports
    "{folder} is a file, not a folder.": "{folder} 是文件，不是文件夹。",
    "Name a folder, or a file that ends in .zip.": "请指定文件夹，或以 .zip 结尾的文件。",
    "{folder} already holds {files}.": "{folder} 中已有 {files}。",
    "The files cannot be written to {folder}: {why}.": "无法将文件写入 {folder}：{why}。",
    "Choose another folder with --out.": "请用 --out 另选文件夹。",
    "Choose another folder or name with --out.": "请用 --out 另选文件夹或名称。",
    "Choose another folder or name, or overwrite them (--overwrite).": (
        "请另选文件夹或名称，或覆盖它们（--overwrite）。"
    ),
    "{path} is there and is no file.": "{path} 已存在，但不是文件。",
    "{path} cannot be compared with: {why}.": "无法与 {path} 比较：{why}。",
    "{path} cannot be read as a zip: {why}.": "无法将 {path} 按 zip 读取：{why}。",
    "Name the folder or .zip of an earlier export by --out.": "请用 --out 指定以前导出的文件夹或 .zip。",
    "The server needs {needed} GPUs and would get {given}.": "该服务器需要 {needed} 块 GPU，而只会得到 {given} 块。",
    "Reserve as many as the parallel sizes need, or lower those.": "请按并行规模预留 GPU，或降低并行规模。",
    "{system} has no drafting method like {method}.": "{system} 没有类似 {method} 的起草方法。",
    "Choose one it has: {known}.": "可选：{known}。",
    "Method {method} needs a draft model.": "方法 {method} 需要草稿模型。",
    "Name one (--draft).": "请指定一个（--draft）。",
    "A model called “{name}” would be taken for a flag.": "名为“{name}”的模型会被当作参数。",
    "Name its folder.": "请指定其文件夹。",
    "vLLM takes no temperature above 2, and this preset's is {temperature:g}.": (
        "vLLM 不接受大于 2 的温度，而此预设的温度为 {temperature:g}。"
    ),
    "Lower it.": "请降低它。",
    "The chart {chart} runs vLLM only.": "chart {chart} 只能运行 vLLM。",
    "Choose program vllm, or flavour plain.": "请选择程序 vllm，或 flavour plain。",
    "A chart would take {{ for a template.": "chart 会把 {{ 当作模板。",
    "Rename the model.": "请重命名该模型。",
    "{key} is {text}, which a llama.cpp preset file cannot hold.": "{key} 为 {text}，llama.cpp 的预设文件无法写入。",
    "Name it without ;, # and line ends.": "请用不含 ;、# 与换行的名称。",
    "Ollama's FROM takes no name with spaces.": "Ollama 的 FROM 不接受含空格的名称。",
    "Ollama cannot draft by {method}: its Modelfile {what}.": "Ollama 无法以 {method} 起草：其 Modelfile {what}。",
    "names no draft model": "不能指明草稿模型",
    "has no such method": "没有此方法",
    "Export a preset without speculation or with method mtp, or choose llama.cpp.": (
        "请导出不用推测解码或方法为 mtp 的预设，或选择 llama.cpp。"
    ),
}
