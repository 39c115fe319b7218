import { AnswerMeter } from './usage/answer-meter.ts';
import type { ProviderError } from './dialect.ts';

/** Meters the frames of a stream, and notes its error. */
export abstract class StreamMeter extends AnswerMeter {
  error: ProviderError | null = null;
  begun = false;

  protected failed(error: ProviderError): 'error' {
    this.error = error;
    return 'error';
  }
}
