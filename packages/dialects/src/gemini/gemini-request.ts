import { isFields, type Fields } from '@gatehouse/kit/fields';
import { feeToolsIn } from '../usage/fee-tools.ts';
import { toolTypesIn } from './grounding.ts';
import type { TokenClass } from '../usage/usage.ts';
import { RequestText, type RewriteText, type Share } from '../wire/request-text.ts';
import type { RequestedAmounts, RequestInPath, RequestSource, Rewrite } from '../dialect.ts';
import { choosingMembers } from '../other-models.ts';
import { parametersIn } from '../request-additions.ts';
import type { MessageAttachments } from '../prompt-parts.ts';
import { ReadRequest } from '../read-request.ts';
import { effortIn, noThinking, type OtherModel, type Thinking } from '../request-fields.ts';
import { attachmentsIn, callIn, partsOf, partsText, spokenText } from './content.ts';
import { numberOf, objectIn, objectsIn, valueOf } from './fields.ts';
import { historyOf } from './history.ts';
import { parameterNames, rewriteRequest, type HistoryRewrite } from './request-rewrite.ts';
import { textOf } from '../translation/fields.ts';
import { mostChoices } from '../bounds.ts';

/** A request with checked types. */
export class GeminiRequest extends ReadRequest {
  readonly #config: Fields;

  /** `fields`: the body, parsed. */
  constructor(body: Buffer, fields: Fields, { model, stream }: RequestInPath) {
    const config = objectIn(fields, 'generationConfig');
    const count = numberOf(valueOf(config, 'candidateCount')) ?? 1;
    super(body, fields, { model, stream, choices: Math.min(mostChoices, Math.max(1, count)) });
    this.#config = config;
  }

  get toolNames(): readonly unknown[] {
    return this.tools.map(({ name }) => name);
  }

  get callIds(): readonly string[] {
    const parts = this.messages.flatMap(partsOf);
    return parts.map((part) => textOf(callIn(part)?.['id'])).filter((id) => id !== '');
  }

  thinking(): Thinking {
    const config = objectIn(this.#config, 'thinkingConfig');
    const budget = numberOf(valueOf(config, 'thinkingBudget'));
    if (budget === 0) return noThinking;
    // −1 leaves it to the model.
    return {
      budgets: budget !== null && budget > 0 ? [budget] : [],
      effort: effortIn(valueOf(config, 'thinkingLevel')),
    };
  }

  requestedAmounts(defaults: Fields): RequestedAmounts {
    const tokenLimit = valueOf(this.#config, 'maxOutputTokens');
    const maxTokens =
      tokenLimit === undefined
        ? parametersIn(parameterNames, defaults)['maxOutputTokens']
        : numberOf(tokenLimit);
    const tier = valueOf(this.fields, 'serviceTier');
    const attachments = attachmentsIn(this.messages.flatMap(partsOf));
    return {
      choices: this.choices,
      maxTokens: typeof maxTokens === 'number' && maxTokens >= 0 ? maxTokens : null,
      serviceTier: typeof tier === 'string' ? tier : null,
      classes: [...(attachments.hasAudio ? (['inputAudio'] as const) : []), ...this.#answerClasses],
      attachments: { count: attachments.count, bytes: attachments.bytes },
      feeTools: [
        ...feeToolsIn(toolTypesIn(this.fields), { counted: 'at its end' }),
        ...feeToolsIn(
          routedModels(this.#config).map(({ param }) => ({ type: param })),
          { counted: 'at its end', onlyIn: 'gemini' },
        ),
      ],
    };
  }

  override otherModels(defaults: Fields): OtherModel[] {
    return [...super.otherModels(defaults), ...routedModels(this.#config)];
  }

  source(share: Share): RequestSource {
    return this.textSource(share, rewriteRequest);
  }

  protected textSource(share: Share, rewriteText: RewriteText<HistoryRewrite>): RequestSource {
    const history = historyOf(this.fields['contents']);
    return new RequestText(this.body, share, (body, rewrite: Rewrite, members) =>
      rewriteText(body, { ...rewrite, history }, members),
    );
  }

  get #answerClasses(): TokenClass[] {
    const modalities = [valueOf(this.#config, 'responseModalities')]
      .flat()
      .map((name) => textOf(name).toUpperCase());
    return [
      ...(modalities.includes('AUDIO') ? (['outputAudio'] as const) : []),
      ...(modalities.includes('IMAGE') ? (['outputImage'] as const) : []),
    ];
  }

  protected override get listName(): string {
    return 'contents';
  }

  protected override get headNames(): readonly string[] {
    return ['systemInstruction', 'system_instruction', 'tools'];
  }

  protected override attachmentsOf(content: Fields): MessageAttachments {
    return attachmentsIn(partsOf(content));
  }

  protected override get system(): readonly string[] {
    const system = valueOf(this.fields, 'systemInstruction');
    return [typeof system === 'string' ? system : partsText(partsOf(system))];
  }

  protected override get messages(): readonly Fields[] {
    return objectsIn(this.fields, 'contents');
  }

  protected override get tools(): readonly Fields[] {
    return objectsIn(this.fields, 'tools').flatMap((tool) => objectsIn(tool, 'functionDeclarations'));
  }

  /** A content without a role is of the user. */
  protected override isOfUser({ role }: Fields): boolean {
    return role === undefined || role === null || role === '' || role === 'user';
  }

  protected override textOf(content: Fields): string {
    return partsText(partsOf(content));
  }

  protected override spokenText(content: Fields): string {
    return spokenText(partsOf(content), '\n');
  }
}

/**
 * Models that Vertex AI calls in place of the request's own, or the member by which it chooses one:
 * https://docs.cloud.google.com/python/docs/reference/vertexai/latest/vertexai.generative_models.GenerationConfig.RoutingConfig
 */
function routedModels(config: Fields): OtherModel[] {
  const routing = objectIn(config, 'routingConfig');
  const byName = textOf(valueOf(objectIn(routing, 'manualMode'), 'modelName'));
  const { routing: auto, preference } = choosingMembers;
  return [
    ...(byName === '' ? [] : [{ name: byName, param: 'routingConfig' }]),
    ...(isFields(valueOf(routing, auto)) ? [{ name: auto, param: 'routingConfig' }] : []),
    ...(isFields(valueOf(config, preference)) ? [{ name: preference, param: preference }] : []),
  ];
}
