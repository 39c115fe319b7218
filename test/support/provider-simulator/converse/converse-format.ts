import type { AnswerFormat } from '../answer-format.ts';
import { RefusedRequest, defaultErrorFor } from '../errors.ts';
import type { WireError } from '../errors.ts';

/** The shapes of Amazon Bedrock's errors: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html. */
export const converseFormat: AnswerFormat = {
  keyHeaders: ['authorization'],
  headers: {},
  wrongKey: () =>
    new RefusedRequest('The security token included in the request is invalid.', { status: 403 }),
  defaultError: defaultErrorFor,
  refusal: (refused) => refused.toWire(),
  errorBody,
  errorEvents: (error) => [{ event: 'modelStreamErrorException', data: errorBody(error) }],
};

function errorBody({ message }: WireError): string {
  return JSON.stringify({ message });
}
