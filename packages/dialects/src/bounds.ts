/** Limits of what the gateway reads, builds and writes. Values of an API's own format stand in its folder. */

/** A longer name is no known model's: names have up to 256 characters, and what a client writes behind them. */
export const maxNameChars = 512;

/** An answer with more blocks, parts or items fails. */
export const maxParts = 4_096;
/** An answer with more choices or candidates fails. */
export const maxChoices = 128;
/** Choices of a whole chat answer read for their text and their errors. Those beyond it pass as they are. */
export const maxReadChoices = 256;
/** An answer with more calls of tools fails. */
export const maxCalls = 128;
/** A checked answer with more texts fails, and with more characters in the texts of one frame, which take 50 ms. */
export const maxStreamTexts = 8_192;
export const maxFrameChars = 2 * 1024 * 1024;
/** The same for texts in the arguments of a call. */
export const maxArgumentTexts = 20_000;
/** The same for runs of characters, escapes and punctuation of them in one frame: as many take 40 ms. */
export const maxArgumentSteps = 100_000;
/** An answer put together of more text fails. */
export const maxBuiltChars = 16 * 1024 * 1024;
/** The same where what was put together is read once more, within 50 ms. */
export const maxReadChars = 2 * 1024 * 1024;
/** Characters counted for each piece beside its own. */
export const charsEach = 8;
/** An answer fails if more of its text waits: for other parts to end, or until it is whole. */
export const maxWaitingChars = 4 * 1024 * 1024;
/** An answer with more reasoning beside it, or with more pieces of it, goes on without. */
export const maxReasoningChars = 1024 * 1024;
export const maxReasoningParts = 1_000;
/** The same for reasoning in the signatures of an answer in Google's API, beside its own text, and for each of them. */
export const maxSignedBytes = 512 * 1024;
export const maxSignatureChars = 2 * 1024 * 1024;
/** The beginning of a stream is held up to this size; beyond it no other provider answers. */
export const maxHeadBytes = 64 * 1024;

/** A longer error of the provider behind a provider is not read. */
export const maxRawChars = 64 * 1024;

/** A longer frame of a stream fails, and one with more lines: 2 million lines took 375 ms, so many take 3. */
export const maxFrameBytes = 16 * 1024 * 1024;
export const maxFrameLines = 10_000;
/** A frame of a translated stream fails beyond this size, which takes 40 ms. */
export const maxTranslatedBytes = 4 * 1024 * 1024;
/** One long text of this size is parsed in 40 ms; larger values are read member by member. */
export const parsedBytes = 12 * 1024 * 1024;
/** Other work may come behind each piece of this size, which is scanned in 5 ms. */
export const pieceBytes = 1024 * 1024;
/** Longer texts of a large request are read by their beginning, of which so much stays. */
export const longTextBytes = 1024;
export const textHeadBytes = 512;

/** An object of a request with more members is refused; providers' larger ones are not read. APIs have about forty. */
export const maxMembers = 1_000;
/** The same for objects and lists inside of a request. */
export const maxInnerMembers = 10_000;
export const maxElements = 50_000;
/** A request for more embeddings is refused, as by OpenAI. */
export const maxInputs = 2_048;
/** Vectors of a larger answer of OpenAI's API stay in the provider's encoding: other servers take more inputs. */
export const maxEmbeddings = 16_384;
/** A vector with more dimensions counts as no vector: 64 vectors fit in one message of gRPC. */
export const maxDimensions = 8_192;
/** A body of another API at chat completions is written anew, at once: a larger one is refused. */
export const maxMixedBytes = 4 * 1024 * 1024;
export const maxMixedItems = 10_000;
/** So many values of hosted tools' items in it become text, at 1 µs each. */
export const maxMixedWords = 20_000;
/** Content nested deeper counts as nothing. */
export const maxDepth = 4;
/** Calls of a provider's tools in a history become text by so many of their values, and no deeper ones. */
export const maxHostedValues = 1_000;
export const maxHostedDepth = 12;
/** An error of Google's API is read up to so many details, and characters of its message; its delay ends at a week. */
export const maxDetails = 32;
export const maxDelayWords = 4_096;
export const maxDelayMs = 7 * 86_400_000;
/** A list of messages with more bytes, or objects and members, keeps missing reasoning: so many are walked over in 30 ms. */
export const maxFilledBytes = 4 * 1024 * 1024;
export const maxFilledParts = 20_000;
/** A history with more elements or changes stays as refused, and so does an element with more values, texts or bytes outside of texts: as many take 40 ms. */
export const maxMendedElements = 20_000;
export const maxMendedValues = 200_000;
export const maxMendedTexts = 30_000;
export const maxMendedBareBytes = 2 * 1024 * 1024;
/** A request in Google's API with more calls and thoughts of a model to be changed is refused. */
export const maxHistoryParts = 32_768;
/** A schema with more levels or objects is not strict. */
export const maxSchemaDepth = 32;
export const maxSchemaObjects = 2_000;
/** Levels of lists in the name of a type, such as `string[][]`. A type with more is unknown. */
export const maxListLevels = 8;
/** References in references, and members of all schemas put together: a schema beyond it is unusable. */
export const maxReferenceDepth = 8;
export const maxSchemaMembers = 10_000;
/** Texts of all schemas of properties put together, by which equal ones are found. */
export const maxMergedChars = 1024 * 1024;
/** A larger schema of a client isn't changed. The mending of a schema of 64 KiB takes 30 ms. */
export const maxSchemaChars = 128 * 1024;
export const maxMendedChars = 64 * 1024;
/** Longer choices between arguments are not added to the description of their tool. */
export const maxNoteChars = 1_000;
/** Fields of a request in the echo of its response: all together. */
export const maxEchoedBytes = 256 * 1024;
/** Texts before the first message of a user, as the name of a conversation; the last of them count. */
export const maxFirstTexts = 64;
/** A header names so many fields, and so much of each. */
export const maxHints = 64;
export const maxHintChars = 100;
/** Names of models with facts in memory. */
export const maxKnownNames = 1_000;
/** So much of a model's name is in the origin of its reasoning. */
export const maxOriginChars = 150;
/** Signatures are searched in texts up to this size, and so many of them. */
export const maxSearchedBytes = 64 * 1024 * 1024;
export const maxSearchedIds = 8_192;
export const maxSearchedMembers = 65_536;

/** A larger prompt has no parts: to find and hash those of as many bytes takes 30 ms. */
export const maxPromptBytes = 4 * 1024 * 1024;
/** The same for one with more messages. */
export const maxPromptParts = 4_096;
/** A system prompt with more blocks is one part. */
export const maxSystemBlocks = 64;
/** Objects and lists in one another in a plain message: a text in the result of a tool, and its mark for a cache. */
export const maxPlainDepth = 8;

/** A larger number of choices, tokens or calls counts as this one. */
export const mostChoices = 1e9;
export const mostTokens = 1e12;
export const mostToolCalls = 1_000;
/** Calls of a provider's tool reserved for a request without a bound. */
export const usualToolCalls = 5;
/** Usage is read up to so many names, entries of a list, and characters of a text. */
export const maxUsageNames = 64;
export const maxUsageEntries = 32;
export const maxUsageChars = 256;
/** Samplings within one call with costs of their own. */
export const maxBilledSamplings = 1_000;
/** UTF-16 units of a question, and of an answer, for memory. */
export const maxMemoryChars = 32 * 1024;
/** Tokens beyond this sample are estimated by its ratio: it takes 5 ms of English, and 125 of random CJK. */
export const sampleChars = 50_000;
/** Estimates take turns of the event loop of so long: a thousand clients may leave at once. */
export const estimateTurnMs = 5;
/**
 * Items of a request in place of their ids, also of one id many times, and all before them by `previous_response_id`: a
 * request with more fails.
 */
export const maxNamedBytes = 20 * 1024 * 1024;
