import { counter, type Counter, Histogram, type Registry } from '@gatehouse/kit/metrics';
import type { Model } from '../catalogue/catalogue.ts';
import { CallWindow, type EndedCall } from './call-window.ts';

const durationBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Shorter answers take their time for other things than tokens. */
const leastTokens = 64;

/** The answer of a provider to a key of its pool. */
export type KeyOutcome = 'accepted' | 'limited' | 'refused';

/** Metrics of calls by deployment and by the position of a key. Names behind a pattern count as the pattern. */
export class CallMetrics {
  readonly #calls: Counter<'provider' | 'model' | 'outcome'>;
  readonly #tokens: Counter<'provider' | 'model'>;
  readonly #firstByte: Histogram<'provider' | 'model'>;
  readonly #duration: Histogram<'provider' | 'model'>;
  readonly #keys: Counter<'provider' | 'key' | 'outcome'>;

  constructor(registry: Registry) {
    const labelNames = ['provider', 'model'] as const;
    const common = { labelNames, registers: [registry], buckets: durationBuckets };
    const callsHelp = 'Provider calls by deployment and outcome: ok, cancelled, or the code of the error';
    this.#calls = counter(registry, 'gatehouse_deployment_calls_total', callsHelp, [
      ...labelNames,
      'outcome',
    ]);
    const tokensHelp = 'Tokens of the answers of a deployment, as it reported them';
    this.#tokens = counter(registry, 'gatehouse_deployment_output_tokens_total', tokensHelp, labelNames);
    this.#firstByte = new Histogram({
      ...common,
      name: 'gatehouse_deployment_first_byte_seconds',
      help: 'Time from a provider call to the first good byte of its answer',
    });
    this.#duration = new Histogram({
      ...common,
      name: 'gatehouse_deployment_call_duration_seconds',
      help: 'Time from a provider call to its end',
    });
    const keysHelp =
      'Calls with a key of a pool by what the provider did with it: accepted, limited or refused';
    const keyLabels = ['provider', 'key', 'outcome'] as const;
    this.#keys = counter(registry, 'gatehouse_provider_key_calls_total', keysHelp, keyLabels);
  }

  callEnded(model: Model, outcome: string, ended: EndedCall): void {
    const labels = labelsOf(model);
    this.#calls.inc({ ...labels, outcome });
    if (ended.firstByteMs !== null) this.#firstByte.observe(labels, ended.firstByteMs / 1_000);
    this.#duration.observe(labels, ended.durationMs / 1_000);
    if (ended.outputTokens !== null) this.#tokens.inc(labels, ended.outputTokens);
  }

  keyUsed(provider: string, position: number, outcome: KeyOutcome): void {
    this.#keys.inc({ provider, key: String(position), outcome });
  }
}

/** The calls of a deployment, as metrics and for the operators' view. */
export class DeploymentCalls {
  readonly window = new CallWindow();
  readonly #model: Model;
  readonly #metrics: CallMetrics;
  /** The pace of one answer, of which the fastest of late counts most; null until one was long enough. */
  tokensPerMs: number | null = null;

  /** `model`: the deployment in the catalogue. */
  constructor(model: Model, metrics: CallMetrics) {
    this.#model = model;
    this.#metrics = metrics;
  }

  /** `choices`: the requested number of answers. */
  ended(call: EndedCall, choices: number): void {
    this.window.ended(call);
    // A provider may make fewer than a client asks for.
    if (choices === 1) this.#notePace(call);
    const outcome = call.error ?? (call.isCancelled ? 'cancelled' : 'ok');
    this.#metrics.callEnded(this.#model, outcome, call);
  }

  #notePace({ outputTokens, durationMs }: EndedCall): void {
    if (outputTokens === null || outputTokens < leastTokens) return;
    const pace = outputTokens / Math.max(1, durationMs);
    const before = this.tokensPerMs ?? 0;
    this.tokensPerMs = Math.max(pace, before + (pace - before) / 64);
  }
}

function labelsOf({ provider, upstreamModel }: Model): { provider: string; model: string } {
  return { provider: provider.name, model: upstreamModel };
}
