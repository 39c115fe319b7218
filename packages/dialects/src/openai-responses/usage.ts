import type { Fields } from '@gatehouse/kit/fields';
import type { Usage } from '../usage/usage.ts';
import { writeUsage as writeChatUsage } from '../openai-chat/usage.ts';

/** Usage as OpenAI writes it in responses, with all classes of tokens. */
export function writeUsage(usage: Usage): Fields {
  const {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    prompt_tokens_details: input_tokens_details,
    completion_tokens_details: output_tokens_details,
    ...others
  } = writeChatUsage(usage);
  return { input_tokens, input_tokens_details, output_tokens, output_tokens_details, ...others };
}
