/** OpenAI's and Anthropic's names, alone and behind a vendor's. */
const reasoningNames = /^(?:openai\/)?(?:gpt-(?:[5-9]|\d\d)|o\d|codex)/;
const plainNames =
  /^(?:openai\/|anthropic\/|(?:[a-z-]+\.)?anthropic\.)?(?:gpt-[34]|chatgpt|claude-(?:v?2|instant|3-(?!7)))/;

/** Whether a model reasons, by a provider's name of it; undefined for one that is not known by its name. */
export function knownReasoning(upstreamModel: string): boolean | undefined {
  if (reasoningNames.test(upstreamModel)) return !upstreamModel.includes('chat');
  return plainNames.test(upstreamModel) ? false : undefined;
}
