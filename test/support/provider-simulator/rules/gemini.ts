import { isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { imageType } from './media-bytes.ts';
import { geminiVersion } from './model-name.ts';
import type { ProviderRule } from './rule.ts';

const docs = 'https://ai.google.dev/gemini-api/docs';
const date = '2026-11-29';

/** Rules of Google's Gemini API. */
export const geminiRules: readonly ProviderRule[] = [
  {
    ...{ id: 'gemini-function-name', date, check: checkNames },
    source: 'https://github.com/google-gemini/gemini-cli/issues/2966',
  },
  {
    ...{ id: 'gemini-order', date, check: checkOrder },
    source: `${docs}/function-calling`,
  },
  {
    ...{ id: 'gemini-thinking-budget', date, check: checkBudget },
    source: `${docs}/thinking`,
  },
  {
    ...{ id: 'gemini-thinking-level', date, check: checkLevel },
    source: `${docs}/thinking`,
  },
  {
    ...{ id: 'gemini-tools-with-format', date, check: checkToolsWithFormat },
    source: 'https://github.com/googleapis/python-genai/issues/867',
  },
  {
    ...{ id: 'gemini-call-signature', date, check: checkCallSignatures },
    source: `${docs}/thought-signatures`,
  },
  {
    ...{ id: 'gemini-corrupted-signature', date, check: checkSignatures },
    source: 'https://github.com/decolua/9router/issues/4136',
  },
  {
    ...{ id: 'gemini-parts', date, check: checkParts },
    source: 'https://ai.google.dev/api/caching#Part',
  },
];

function declarationsOf({ tools }: JsonObject): JsonObject[] {
  return objectsIn(tools).flatMap((tool) => objectsIn(tool['functionDeclarations']));
}

function checkNames(body: JsonObject): string | null {
  const index = declarationsOf(body).findIndex(
    ({ name }) => typeof name !== 'string' || !/^[A-Za-z_][\w.:-]{0,63}$/.test(name),
  );
  return index === -1
    ? null
    : `GenerateContentRequest.tools[0].function_declarations[${index}].name: Invalid function name. Must start with a letter or an underscore.`;
}

function count(turn: JsonObject | undefined, member: string): number {
  return objectsIn(turn?.['parts']).filter((part) => part[member] !== undefined).length;
}

/** Successive contents of one side are one turn, as Google's own SDKs and LangChain send them. */
function turnsOf(contents: unknown): JsonObject[] {
  const turns: { role: string; parts: JsonObject[] }[] = [];
  for (const { role: said, parts } of objectsIn(contents)) {
    const role = said === 'model' ? 'model' : 'user';
    const last = turns.at(-1);
    if (last?.role === role) last.parts.push(...objectsIn(parts));
    else turns.push({ role, parts: [...objectsIn(parts)] });
  }
  return turns.map((turn) => ({ ...turn }));
}

function checkOrder({ contents }: JsonObject): string | null {
  const turns = turnsOf(contents);
  for (const [index, turn] of turns.entries()) {
    const calls = count(turn, 'functionCall');
    if (turn['role'] === 'model' && calls > 0) {
      if (turns[index - 1]?.['role'] !== 'user')
        return 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.';
      const next = turns[index + 1];
      if (next !== undefined && count(next, 'functionResponse') !== calls)
        return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
    }
    if (count(turn, 'functionResponse') > 0 && count(turns[index - 1], 'functionCall') === 0)
      return 'Please ensure that function response turn comes immediately after a function call turn.';
  }
  return null;
}

function thinkingOf({ generationConfig: config }: JsonObject): JsonObject {
  const thinking = isObject(config) ? config['thinkingConfig'] : undefined;
  return isObject(thinking) ? thinking : {};
}

function checkBudget(body: JsonObject, model: string): string | null {
  const { thinkingBudget: budget, thinkingLevel: level } = thinkingOf(body);
  if (budget === undefined || budget === -1) return null;
  if (level !== undefined) return 'You can only set one of thinking budget and thinking level.';
  const isPro = /-pro/.test(model);
  const [least, most] = isPro ? [128, 32_768] : [/lite/.test(model) ? 512 : 1, 24_576];
  if (budget === 0 && !isPro) return null;
  const fits = typeof budget === 'number' && budget >= least && budget <= most;
  return fits
    ? null
    : `The thinking budget ${JSON.stringify(budget)} is invalid. Please choose a value between ${least} and ${most}.`;
}

function checkLevel(body: JsonObject, model: string): string | null {
  const { thinkingLevel: level } = thinkingOf(body);
  if (level === undefined) return null;
  const version = geminiVersion(model) ?? 300;
  if (version < 300) return 'Thinking level is not supported for this model.';
  const refuses = level === 'minimal' && (/-pro/.test(model) || version >= 400);
  return refuses ? 'Thinking level MINIMAL is not supported for this model.' : null;
}

function checkToolsWithFormat(body: JsonObject, model: string): string | null {
  const { generationConfig: config } = body;
  const wantsJson = isObject(config) && config['responseMimeType'] === 'application/json';
  if (!wantsJson || declarationsOf(body).length === 0 || (geminiVersion(model) ?? 300) >= 300) return null;
  return "Function calling with a response mime type: 'application/json' is unsupported";
}

/** The first call of each step in the current turn, which begins at the last user message with more than results. */
function checkCallSignatures({ contents }: JsonObject, model: string): string | null {
  if ((geminiVersion(model) ?? 0) < 300) return null;
  const turns = turnsOf(contents);
  const start = turns.findLastIndex(
    (turn) => turn['role'] !== 'model' && count(turn, 'text') + count(turn, 'inlineData') > 0,
  );
  for (const [index, turn] of turns.entries()) {
    if (index < start || turn['role'] !== 'model') continue;
    const first = objectsIn(turn['parts']).find((part) => part['functionCall'] !== undefined);
    if (first !== undefined && typeof first['thoughtSignature'] !== 'string')
      return `Function call is missing a thought_signature in functionCall parts. Function call at position ${index}.`;
  }
  return null;
}

/** A signature that LangChain has for calls of other models (`DUMMY_SIGNATURE` of `@langchain/google-genai`). */
const langChainSignature = 'ErYCCrMCAdHtim9kOoOkrPiCNVsmlpMIKd7ZMxgi';

/** Google's documented stand-ins for a signature, and the signature of the simulator's Gemini. */
const knownSignatures = [
  ...['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'],
  Buffer.from('simulator').toString('base64'),
];

/** Signatures of other vendors. */
function checkSignatures({ contents }: JsonObject): string | null {
  const signatures = objectsIn(contents)
    .flatMap((turn) => objectsIn(turn['parts']))
    .flatMap((part) => part['thoughtSignature'] ?? []);
  const isKnown = (signature: unknown): boolean =>
    typeof signature === 'string' &&
    (knownSignatures.includes(signature) || signature.startsWith(langChainSignature));
  return signatures.every(isKnown) ? null : 'Corrupted thought signature.';
}

function checkParts({ contents }: JsonObject): string | null {
  for (const [index, turn] of objectsIn(contents).entries()) {
    const parts = objectsIn(turn['parts']);
    if (parts.length === 0)
      return `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`;
    for (const { inlineData } of parts) {
      if (!isObject(inlineData)) continue;
      const real = imageType(String(inlineData['data']));
      if (real !== undefined && real !== inlineData['mimeType'])
        return `Unable to process input image. It is ${real}, not ${String(inlineData['mimeType'])}.`;
    }
  }
  return null;
}
