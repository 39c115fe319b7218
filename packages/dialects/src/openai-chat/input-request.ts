import { cutText } from '@gatehouse/events/cut-text';
import type { Fields } from '@gatehouse/kit/fields';
import { SampleBuilder, type TextSample } from '../usage/token-estimate.ts';
import { tokensIn } from './message-text.ts';
import { OpenAiRequest, plainText } from './openai-request.ts';

/** A request with an `input` in place of a conversation: for embeddings, or moderations. */
export class InputRequest extends OpenAiRequest {
  override inputPreview(maxChars: number): string {
    return cutText(plainText(this.fields['input']), maxChars);
  }

  override promptSample(added: readonly (string | TextSample)[] = []): TextSample {
    const sample = new SampleBuilder();
    sample.addSample(super.promptSample([...added, plainText(this.fields['input'])]));
    sample.addTokens(tokensIn(this.fields['input']));
    return sample.built;
  }

  /** Fields of chats pass through unchecked, and count as nothing. */
  protected override get messages(): readonly Fields[] {
    return [];
  }

  protected override get tools(): readonly unknown[] {
    return [];
  }
}
