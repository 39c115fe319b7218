import { TextView } from '@gatehouse/dialects/text-view/text-view';
import type { TextRules } from '@gatehouse/dialects/text-view/text-rules';
import { changed } from '@gatehouse/dialects/text-view/text-source';
import { cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import type { Guardrail } from '../../policies/guardrail.ts';
import { asOlder } from '../text-verdict.ts';
import type { OutsideGuardrails, OutsideText } from './outside-guardrails.ts';
import type { AskedVerdict } from './outside-verdict.ts';

/** Texts of a run with one place for their changes. */
export interface AskedTexts {
  readonly texts: readonly OutsideText[];
  /** The place of a text for the client. */
  paramOf(index: number): string;
  /** Takes over the changes. It isn't called if a text is blocked. */
  change(verdicts: readonly AskedVerdict[]): Promise<void> | void;
}

/** The rules of a document. `param`: the place of all its texts. `isOlder`: they are of earlier requests. */
interface AskedDocument {
  rules: TextRules;
  tenantId: string;
  param?: string;
  isOlder?: boolean;
}

/** The texts of a document. `use` gets the document with their changes. */
export async function documentTexts(
  body: Buffer,
  { rules, tenantId, param, isOlder = false }: AskedDocument,
  use: (body: Buffer) => Promise<void> | void,
): Promise<AskedTexts> {
  const inTurn = cooperativeFor(body, tenantId);
  const view = await runSteps(TextView.read(body, rules), inTurn);
  return {
    texts: isOlder ? view.texts.map(asOlder) : view.texts,
    paramOf: (index) => param ?? view.texts[index]?.param ?? '',
    change: async (verdicts) => {
      const changes = view.texts.flatMap((viewText, index) =>
        (verdicts[index]?.changes ?? []).map((change) => ({ viewText, ...change })),
      );
      if (changes.length > 0) await use((await runSteps(view.rewritten(changes), inTurn)).whole);
    },
  };
}

/** One text. */
export function plainText(
  text: Pick<OutsideText, 'kind' | 'value' | 'isOlder'>,
  param: string,
  use: (text: string) => void,
): AskedTexts {
  return {
    texts: [{ ...text, isFixed: false }],
    paramOf: () => param,
    change: ([verdict]) => {
      const { changes = [] } = verdict ?? {};
      if (changes.length > 0) use(changed(text.value, changes));
    },
  };
}

/**
 * Asks about the texts of all parts at once, and changes them. Returns the first block, in the order of the parts: then
 * nothing is changed. Throws as `OutsideGuardrails.verdicts` does.
 */
export async function askAbout(
  outside: OutsideGuardrails,
  parts: readonly AskedTexts[],
): Promise<{ blockedBy: Guardrail; param: string } | null> {
  const verdicts = await outside.verdicts(parts.flatMap(({ texts }) => texts));
  let end = 0;
  const partVerdicts = parts.map((part) => ({ part, list: verdicts.slice(end, (end += part.texts.length)) }));
  for (const { part, list } of partVerdicts) {
    const index = list.findIndex(({ blockedBy }) => blockedBy !== null);
    const blockedBy = list[index]?.blockedBy ?? null;
    if (blockedBy !== null) return { blockedBy, param: part.paramOf(index) };
  }
  for (const { part, list } of partVerdicts) await part.change(list);
  return null;
}
