"""The names of request fields: Google takes each in camelCase and in snake_case, the codec reads the first."""

from __future__ import annotations

import re

from thinkwire.wires.reader import Fields

_CAMEL = (
    *("systemInstruction", "toolConfig", "generationConfig", "safetySettings", "cachedContent"),
    *("thoughtSignature", "functionCall", "functionResponse", "inlineData", "fileData", "videoMetadata"),
    *("executableCode", "codeExecutionResult", "mediaResolution", "partMetadata"),
    *("mimeType", "displayName", "fileUri", "willContinue", "partialArgs"),
    *("functionDeclarations", "parametersJsonSchema", "responseJsonSchema", "googleSearch", "codeExecution"),
    *("googleSearchRetrieval", "urlContext", "googleMaps", "fileSearch", "computerUse"),
    *("functionCallingConfig", "allowedFunctionNames", "retrievalConfig"),
    *("maxOutputTokens", "topP", "topK", "stopSequences", "frequencyPenalty", "presencePenalty", "candidateCount"),
    *("responseMimeType", "responseSchema", "responseModalities", "speechConfig", "responseLogprobs"),
    *("thinkingConfig", "thinkingBudget", "thinkingLevel", "includeThoughts"),
)
_HUMP = re.compile(r"(?<!^)([A-Z])")
_NAMES = {_HUMP.sub(r"_\1", name).lower(): name for name in _CAMEL}


def named(fields: Fields) -> Fields:
    """The same object, its fields under the names that are read."""
    return fields.respell(_NAMES)
