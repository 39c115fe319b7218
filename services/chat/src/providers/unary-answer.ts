import { NoAnswer, type AnswerFormat, type ReadOptions, type WholeAnswer } from '@gatehouse/dialects/dialect';
import { ProviderFailure } from './provider-failure.ts';

export const maxAnswerBytes = 64 * 1024 * 1024;

const badGateway = 502;

/** Reads a whole answer. Throws the provider's failure if the bytes are none. */
export async function readUnaryAnswer(
  { name, format }: { name: string; format: AnswerFormat },
  bytes: Buffer,
  options: ReadOptions,
): Promise<WholeAnswer> {
  try {
    return await format.readWhole(bytes, options);
  } catch (error) {
    if (!(error instanceof NoAnswer) || error.error === null)
      // Such as the depth of an answer beyond the stack.
      throw new ProviderFailure('invalid', name, { cause: error });
    // An error with status 200, as if it were the status.
    throw new ProviderFailure('status', name, {
      ...error.error,
      status: error.error.status ?? badGateway,
    });
  }
}
