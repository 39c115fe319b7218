import { counter, type Counter, Histogram, type Registry } from '@gatehouse/kit/metrics';
import { partsOf, type Usage } from '@gatehouse/dialects/usage/usage';

const firstTokenBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export interface EndedCall {
  provider: string;
  errorCode: string | null;
  usage: Usage;
  /** Null unless it was streamed, and has begun. */
  timeToFirstTokenMs: number | null;
}

/** Metrics of calls by provider. */
export class ProviderMetrics {
  readonly #firstToken: Histogram<'provider'>;
  readonly #tokens: Counter<'provider' | 'kind'>;
  readonly #requests: Counter<'provider' | 'outcome'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#firstToken = new Histogram({
      name: 'gatehouse_time_to_first_token_seconds',
      help: 'Time from a streamed provider call to the first piece of its answer',
      labelNames: ['provider'],
      buckets: firstTokenBuckets,
      registers,
    });
    this.#tokens = counter(
      registry,
      'gatehouse_tokens_total',
      'Tokens of provider calls; cached_input, cache_write and input_* are part of input, reasoning and output_* are part of output',
      ['provider', 'kind'],
    );
    this.#requests = counter(
      registry,
      'gatehouse_provider_requests_total',
      'Provider calls by outcome: ok or the code of the error',
      ['provider', 'outcome'],
    );
  }

  ended({ provider, errorCode, usage, timeToFirstTokenMs }: EndedCall): void {
    this.#requests.inc({ provider, outcome: errorCode ?? 'ok' });
    for (const [kind, count] of kindsOf(usage)) if (count > 0) this.#tokens.inc({ provider, kind }, count);
    if (timeToFirstTokenMs !== null) this.#firstToken.observe({ provider }, timeToFirstTokenMs / 1_000);
  }
}

function kindsOf(usage: Usage): [kind: string, count: number][] {
  const parts = partsOf(usage);
  return [
    ['input', usage.inputTokens],
    ['cached_input', usage.cachedInputTokens],
    ['cache_write', usage.cacheWriteTokens],
    ['input_audio', parts.inputAudio + parts.cachedInputAudio],
    ['input_image', parts.inputImage + parts.cachedInputImage],
    ['output', usage.outputTokens],
    ['reasoning', usage.reasoningTokens],
    ['output_audio', parts.outputAudio],
    ['output_image', parts.outputImage],
  ];
}
