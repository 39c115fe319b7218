import { guardrailDefinition, type GuardrailDefinition } from '@gatehouse/contract/guardrails';
import { AppError } from '@gatehouse/kit/errors';
import { selectOf, SelectionIndex, type Select, type SelectedRun } from '@gatehouse/kit/selection-index';
import type { Guardrail as GuardrailMessage } from '@gatehouse/proto/tenant/v1/tenant';

/** An enabled guardrail of a tenant, or of the owner for it. */
export interface Guardrail extends Pick<
  GuardrailDefinition,
  'on' | 'check' | 'action' | 'except' | 'message' | 'unreadable' | 'hold'
> {
  id: string;
  /** Another one with each change. */
  version: number;
  /** Begins with `owner:` for one of the owner. */
  name: string;
  isOwner: boolean;
  onError: GuardrailDefinition['on_error'];
  timeoutMs: number;
  /** Credentials for the server of its check, as `openGuardrailSecrets` opens them; null without. */
  secrets: Buffer | null;
}

interface Indexed {
  select: Select;
  name: string;
  /** Null if this release can't apply it. */
  guardrail: Guardrail | null;
}

/** The error of a run with a closed guardrail out of order. */
export function guardrailUnavailable({ name }: Pick<Guardrail, 'name'>): AppError {
  return new AppError('guardrail_unavailable', `The guardrail ${name} can't be applied now.`);
}

/** Whether it is such an error. */
export function isUnavailable(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'guardrail_unavailable';
}

/** The guardrails of a tenant, and those of the owner for it, indexed by selected names. */
export class GuardrailIndex {
  readonly #selections: SelectionIndex<Indexed>;
  readonly #byName: ReadonlyMap<string, Guardrail>;
  /** Roughly its bytes in memory. */
  readonly bytes: number;

  /** `messages`: as the tenant service sends them. */
  constructor(messages: readonly GuardrailMessage[]) {
    const items = messages.map((message) => ({
      ...{ select: selectOf(message), name: message.name, guardrail: guardrailOf(message) },
    }));
    this.#byName = new Map(
      items.flatMap(({ name, guardrail }) => (guardrail === null ? [] : [[name, guardrail] as const])),
    );
    this.#selections = new SelectionIndex(items.sort((one, other) => (one.name < other.name ? -1 : 1)));
    this.bytes = messages.reduce(
      (sum, { definition, secrets }) => sum + 4 * definition.length + secrets.length + 2_000,
      this.#selections.bytes,
    );
  }

  /** The guardrail with a name, whatever it selects; undefined without one, or if this release can't apply it. */
  named(name: string): Guardrail | undefined {
    return this.#byName.get(name);
  }

  /**
   * The guardrails of a run in the order of their names: selected by any model of its chain. Throws
   * `guardrail_unavailable` if one of them is of a later release.
   */
  matching(run: SelectedRun, modelIds: readonly string[]): readonly Guardrail[] {
    const isSelected = this.#selections.selectingModels(modelIds);
    return this.#selections
      .matching(run)
      .items.filter(({ index }) => isSelected(index))
      .map(({ item: { name, guardrail } }) => {
        if (guardrail !== null) return guardrail;
        throw guardrailUnavailable({ name });
      });
  }
}

function guardrailOf(message: GuardrailMessage): Guardrail | null {
  const { id, version, name, fromOwner, secrets } = message;
  const parsed = guardrailDefinition.safeParse(JSON.parse(message.definition));
  if (!parsed.success) return null;
  const { on_error: onError, timeout_ms: timeoutMs, ...definition } = parsed.data;
  return {
    ...{ id, version, name, isOwner: fromOwner, onError, timeoutMs, ...definition },
    secrets: secrets.length === 0 ? null : Buffer.from(secrets),
  };
}
