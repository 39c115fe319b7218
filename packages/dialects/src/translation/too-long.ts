import type { ProviderError } from '../dialect.ts';

/**
 * Words for a conversation beyond the context of a model: those of Anthropic, OpenAI, Google, Bedrock, xAI, Groq and
 * OpenRouter, and of servers like vLLM, llama.cpp and LM Studio.
 */
const words: readonly RegExp[] = [
  /prompt is too long|input is too long|context[ _](?:length|size)[ _]exceeded|exceed_context_size/i,
  /exceeds? (?:the |this )?(?:model(?:'s)? )?(?:available |maximum )?(?:context|input limit)/i,
  /maximum (?:context|prompt) length|longer than the model's context|greater than the context length/i,
  /input token count.{0,40}exceeds the maximum|reduce the length of the (?:messages|prompt|input)/i,
  /context window exceeds|exceeded model token limit|too many input tokens/i,
];

/** Whether an error reports too long a conversation: clients then compact it. Each knows the words of its API alone. */
function isTooLong({ code = '', message = '' }: ProviderError): boolean {
  return words.some((word) => word.test(code) || word.test(message));
}

/** `formatError` of OpenAI's APIs. Their clients compact a conversation at this code. */
export function withTooLongCode(error: ProviderError): ProviderError {
  return isTooLong(error) ? { ...error, code: 'context_length_exceeded' } : error;
}

/**
 * `formatError` of an API with clients compacting a conversation at words. `begins`: enough of them for recognition.
 */
export function withTooLongWords(words: string, begins = words): (error: ProviderError) => ProviderError {
  return (error) => {
    const { message = '' } = error;
    return isTooLong(error) && !message.toLowerCase().startsWith(begins.toLowerCase())
      ? { ...error, message: `${words}: ${message}` }
      : error;
  };
}
