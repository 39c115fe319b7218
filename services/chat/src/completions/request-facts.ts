import { maxMemoryChars } from '@gatehouse/dialects/bounds';
import { cutText } from '@gatehouse/events/cut-text';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { CompletionRequest } from '@gatehouse/dialects/dialect';
import { SampleBuilder, type TextSample } from '@gatehouse/dialects/usage/token-estimate';
import type { Target } from '../catalogue/target.ts';
import { maxIdChars } from '../bounds.ts';

interface FactsOptions {
  target: Pick<Target, 'defaults' | 'memory'>;
  previewChars: number;
  /** Reads the prompt once an estimate needs it; by default it is sampled now. */
  sampleOf?: (() => TextSample) | undefined;
}

/**
 * Everything a turn needs of a request beside its bytes, so nothing keeps its values: these take up to twice its bytes
 * while memory, tools and limits are asked. Reads it all at once: in a turn of the event loop for a large one.
 */
export function requestFacts(
  request: CompletionRequest,
  { target, previewChars, sampleOf = samplerOf(request.promptSample()) }: FactsOptions,
): AcceptedRequest {
  const { operation, model, stream, wantsUsage, choices, isBatch, compaction, bytes, session } = request;
  const { viewWith, keptView, toolNames, callIds } = request;
  const { defaults, memory } = target;
  const preview = previewChars === 0 ? '' : request.inputPreview(previewChars);
  const last = memory === null ? null : request.lastUserText();
  const userText = last && { index: last.index, text: cutText(last.text, maxMemoryChars) };
  const allChoices = request.choicesWith(defaults);
  const thinking = request.thinking(defaults);
  const amounts = request.requestedAmounts(defaults);
  return {
    operation,
    model,
    stream,
    wantsUsage,
    choices,
    isBatch,
    compaction,
    bytes,
    session,
    ...(viewWith !== undefined && { viewWith }),
    ...(keptView !== undefined && { keptView }),
    toolNames: toolNames.filter(isName),
    callIds: callIds.filter(isName),
    inputPreview: (maxChars) => cutText(preview, maxChars),
    lastUserText: () => userText,
    promptSample: (added = []) => {
      const built = new SampleBuilder();
      for (const text of added) {
        if (typeof text === 'string') built.add(text);
        else built.addSample(text);
      }
      built.addSample(sampleOf());
      return built.built;
    },
    choicesWith: () => allChoices,
    thinking: () => thinking,
    requestedAmounts: () => amounts,
  };
}

/** A function of its own: a closure of `requestFacts` could keep the request. */
function samplerOf(sample: TextSample): () => TextSample {
  return () => sample;
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && name.length <= maxIdChars;
}
