import type { Fields } from '@gatehouse/kit/fields';
import type { Model } from '../catalogue/catalogue.ts';
import { awsException, errorIn } from './error-fields.ts';
import type { Absence, ProviderFailure } from './provider-failure.ts';

/**
 * Codes and types of errors about a missing model: OpenAI's, Azure's for a deployment that was deleted
 * (https://github.com/BerriAI/litellm/issues/21377), Groq's (https://console.groq.com/docs/deprecations), Mistral's,
 * Together's and GitHub Models'.
 */
const missingCodes = [
  ...['DeploymentNotFound', 'ModelNotFound', 'model_decommissioned', 'model_not_available'],
  ...['model_not_found', 'unavailable_model', 'unknown_model'],
];
/** Codes of the same servers about a model, with 400 as well as 404. Some of them may be about the request. */
const modelCodes: readonly unknown[] = [
  ...missingCodes,
  ...['OperationNotSupported', 'ResourceNotFoundException', 'invalid_model', 'model_not_supported'],
  'unsupported_model',
];

/**
 * Beginnings of messages about a model, from servers whose 400 has no code for it: Bedrock
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html,
 * https://github.com/mlcommons/modelbench/issues/1654), DeepSeek, OpenRouter and LiteLLM.
 */
const modelWords =
  /^(?:The provided model identifier is invalid|Invocation of model ID \S{1,300} with on-demand throughput isn.t supported|The provided model doesn.t support on-demand throughput|This model version has reached the end of its life|Model Not Exist|\S{1,300} is not a valid model ID|(?:\S{1,40}: ){0,3}Invalid model name passed in)/i;

/** Objects of a client by whose ids it may cause a 404. */
const clientObjects =
  /\b(?:batch|cached ?content|container|conversation|file|image|item|prompt|response|skill|url|vector store)s?\b/i;
const saysModel = /\b(?:deployment|model)s?\b/i;

/**
 * The absence of a deployment as an error shows it; null for an error with another cause. Words make none certain: they
 * may repeat those of the request.
 */
export function absenceIn(status: number, body: unknown, headers: Fields): Absence | null {
  const { whole, error } = errorIn(body);
  const message = messageOf(error, whole);
  const names = [error['code'], error['type'], awsException(whole, headers)];
  const isCoded = names.some((name) => modelCodes.includes(name));
  if (status === 404 || status === 410) {
    const ofClient = isOfClient(error['param'], message);
    if (!isCoded && ofClient) return null;
    return !ofClient && missingCodes.some((code) => names.includes(code)) ? 'certain' : 'likely';
  }
  return status === 400 && (isCoded || modelWords.test(message)) ? 'likely' : null;
}

/**
 * Whether a client named a model behind a pattern that no deployment of the pattern has: another model must not answer
 * to a wrong name. `last`: the model called before `next`.
 */
export function isUnknownName(
  failure: ProviderFailure | null,
  last: Model | undefined,
  next: Model,
): boolean {
  if (failure?.lacksDeployment !== true || last === undefined) return false;
  return last.pattern !== null && last.id !== next.id;
}

function messageOf(error: Fields, whole: Fields): string {
  const texts = [error['message'], error['Message'], whole['error'], whole['detail']];
  const text = texts.find((word) => typeof word === 'string');
  return typeof text === 'string' ? text.slice(0, 2_000) : '';
}

function isOfClient(param: unknown, message: string): boolean {
  if (typeof param === 'string' && param !== '' && param !== 'model') return true;
  return clientObjects.test(message) && !saysModel.test(message);
}
