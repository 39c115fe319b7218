import type { NewCheck } from '@gatehouse/contract/guardrail-checks';
import { isFields } from '@gatehouse/kit/fields';
import {
  noMatch,
  OutsideFailure,
  type Answer,
  type AskingRun,
  type CheckedText,
  type OutsideCheck,
  type Question,
  type TextVerdict,
} from './outside-check.ts';
import { askServer, type ServerEgress } from './server-call.ts';

const blocked: TextVerdict = { outcome: 'match', types: ['webhook'] };

/** A server of LiteLLM's Generic Guardrail API (https://docs.litellm.ai/docs/adding_provider/generic_guardrail_api). */
export class WebhookCheck implements OutsideCheck {
  readonly #check: Extract<NewCheck, { type: 'webhook' }>;
  readonly #egress: ServerEgress;

  constructor(check: Extract<NewCheck, { type: 'webhook' }>, egress: ServerEgress) {
    this.#check = check;
    this.#egress = egress;
  }

  async ask(question: Question): Promise<Answer> {
    const verdicts = new Map<CheckedText, TextVerdict>();
    await Promise.all(
      [...Map.groupBy(question.texts, inputType)].map(async ([type, texts]) => {
        const typeVerdicts = await this.#verdicts(type, texts, question);
        for (const [index, text] of texts.entries()) verdicts.set(text, typeVerdicts[index] ?? noMatch);
      }),
    );
    return { verdicts: question.texts.map((text) => verdicts.get(text) ?? noMatch), costPico: 0n };
  }

  async #verdicts(
    input_type: 'request' | 'response',
    checked: readonly CheckedText[],
    { run, signal }: Question,
  ): Promise<readonly TextVerdict[]> {
    const { url, auth, params } = this.#check;
    const texts = checked.map(({ text }) => text);
    const body = { input_type, texts, ...factsOf(run), additional_provider_specific_params: params };
    const answer = await askServer(this.#egress, {
      ...{ tenantId: run.tenantId, url, auth, body, signal },
      path: '/beta/litellm_basic_guardrail_api',
    });
    const { action, texts: changed } = isFields(answer) ? answer : {};
    if (action === 'NONE') return texts.map(() => noMatch);
    if (action === 'BLOCKED') return texts.map(() => blocked);
    if (action !== 'GUARDRAIL_INTERVENED' || !isListOf(changed, texts.length))
      throw new OutsideFailure('malformed');
    return changed.map((text, index) => (text === texts[index] ? noMatch : { outcome: 'changed', text }));
  }
}

function isListOf(texts: unknown, length: number): texts is string[] {
  return Array.isArray(texts) && texts.length === length && texts.every((text) => typeof text === 'string');
}

function inputType({ kind }: CheckedText): 'request' | 'response' {
  return kind === 'answer' || kind === 'tool_call' ? 'response' : 'request';
}

/** Members without a place here are left out: pictures, headers, hashes of keys, addresses. */
function factsOf({ runId, traceId, sessionId, model, ...run }: AskingRun): object {
  return {
    model,
    litellm_call_id: runId,
    litellm_trace_id: sessionId ?? traceId,
    request_data: {
      user_api_key_alias: run.apiKeyName,
      user_api_key_end_user_id: run.userId,
      user_api_key_team_id: run.group,
      user_api_key_team_alias: run.group,
      user_api_key_org_id: run.tenantId,
    },
  };
}
