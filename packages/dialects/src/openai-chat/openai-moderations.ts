import type { Fields } from '@gatehouse/kit/fields';
import type { RequestedAmounts } from '../dialect.ts';
import { attachmentsIn } from './requested-amounts.ts';
import { InputRequest } from './input-request.ts';

/** OpenAI's model for a request without one (https://platform.openai.com/docs/api-reference/moderations/create). */
export const defaultModerationModel = 'omni-moderation-latest';

/** A request to classify texts and pictures. */
export class OpenAiModerations extends InputRequest {
  override readonly operation = 'moderations';

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, model: string) {
    super(body, fields, { operation: 'moderations', model, stream: false, wantsUsage: false, choices: 1 });
  }

  /** Pictures stand in `input` as they do in the content of a message. */
  override requestedAmounts(defaults: Fields): RequestedAmounts {
    const { count, bytes } = attachmentsIn([{ content: this.fields['input'] }]);
    return { ...super.requestedAmounts(defaults), attachments: { count, bytes } };
  }
}
