import { AppError } from '@gatehouse/kit/errors';
import type { Model } from '../catalogue/catalogue.ts';
import type { Target } from '../catalogue/target.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { CountFormat, Dialect, RequestSource, Rewrite } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
import { translatedFailure, translatedRequest, translationFor } from '../providers/call-translation.ts';
import type { CountRequest } from '../providers/count-call.ts';
import { CallBetas } from '../providers/model-betas.ts';
import type { SignatureOrigins } from '../providers/signature-origins.ts';
import type { Hasher } from '@gatehouse/secrets/key-ring';
import type { TurnTools } from '../tools/tool-loop.ts';
import type { Pieces } from '@gatehouse/dialects/wire/pieces';

/** A dialect with counts of tokens. */
export type CountingDialect = Dialect & { name: ApiName; counts: CountFormat };

/** A request as it would go to a provider. */
export interface Counted {
  dialect: CountingDialect;
  request: AcceptedRequest;
  source: RequestSource;
  target: Target;
  tools: TurnTools | null;
  /** The origins of the client's signatures; null where there is one origin. */
  signatures: SignatureOrigins | null;
  guardrails: RunGuardrails | null;
  /** See `ProviderRegistry.signatureMacs`. */
  macs: Hasher;
}

interface CountOptions {
  tenantId: string;
  /** The client's headers, as far as its API passes them on. */
  headers: Readonly<Record<string, string>>;
  /** See `Rewrite`. */
  keepsSignature?: (signature: unknown) => boolean;
  /** The account to ask for the count. */
  account: string | null;
}

/** Whether the providers of a model's API count tokens. */
export function hasCounts({ dialect, macs }: Counted, model: Model): boolean {
  const translation = translationFor(dialect.name, model, { macs });
  return translation === null || translation.countName !== null;
}

/** A count of a request by the provider of a model, which is translated for one of another API; null if it can't be. */
export async function countRequest(
  counted: Counted,
  model: Model,
  options: CountOptions,
): Promise<CountRequest | null> {
  const { counts, name } = counted.dialect;
  const { macs, target, tools } = counted;
  const betas = new CallBetas(target, options.headers, tools !== null);
  const account = (): string | null => options.account;
  const translation = translationFor(name, model, { macs, account, betas: betas.of(model, true) });
  const isTranslated = translation !== null;
  const headers = betas.headers(model, isTranslated);
  const copied = (bytes: number): void => counted.source.copied(bytes);
  const bindsThinking = betas.binds(model, isTranslated);
  const write = (): Pieces => bodyFor(counted, model, { ...options, isTranslated, bindsThinking });
  if (translation === null)
    return {
      body: write(),
      copied,
      headers,
      answerIn: (bytes, fields) => (counts.isCount(fields) ? bytes : null),
      failed: (failure) => failure,
    };
  const { source } = counted;
  const translated = await translatedRequest(
    translation,
    { source, write },
    { tenantId: options.tenantId, isCount: true },
  );
  // The model's API can't express the request.
  if (translated instanceof AppError) return null;
  return {
    body: translated.body,
    copied,
    headers,
    answerIn: (_bytes, fields) => {
      const tokens = fields[translation.countName ?? ''];
      return typeof tokens === 'number' ? Buffer.from(JSON.stringify(counts.answerWith(tokens))) : null;
    },
    failed: (failure) => translatedFailure(failure, translation),
  };
}

/** An agent's parameters are left out: they are no part of a prompt, and providers refuse them here. */
function bodyFor(
  { dialect, source, target, tools }: Counted,
  { upstreamModel, family, reasoning }: Model,
  {
    keepsSignature,
    ...rewrite
  }: Pick<CountOptions, 'keepsSignature'> & Pick<Rewrite, 'isTranslated' | 'bindsThinking'>,
): Pieces {
  return source.rewritten({
    ...(keepsSignature !== undefined && { keepsSignature }),
    ...{ ...rewrite, api: dialect.name, model: upstreamModel, reasons: reasoning },
    rulesName: family,
    counts: true,
    includeUsage: false,
    systemPrompt: target.systemPrompt,
    reference: null,
    defaults: {},
    maxTokens: null,
    tools: tools === null ? null : { definitions: tools.definitions.text, messages: [], choice: null },
  });
}
