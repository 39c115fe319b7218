import type { Fields } from '@gatehouse/kit/fields';
import { partsOf, type Usage } from '../usage/usage.ts';

/** Usage as Google writes it. Tokens that were written to a cache, which it does not count, have names that the reader knows. */
export function writeUsage(usage: Usage): Fields {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  const parts = partsOf(usage);
  const input = modalities({
    audio: parts.inputAudio + parts.cachedInputAudio,
    image: parts.inputImage + parts.cachedInputImage,
    video: parts.inputVideo + parts.cachedInputVideo,
  });
  const cached = modalities({
    audio: parts.cachedInputAudio,
    image: parts.cachedInputImage,
    video: parts.cachedInputVideo,
  });
  const output = modalities({ audio: parts.outputAudio, image: parts.outputImage, video: parts.outputVideo });
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - reasoningTokens,
    totalTokenCount: inputTokens + outputTokens,
    ...(cachedInputTokens > 0 && { cachedContentTokenCount: cachedInputTokens }),
    ...(reasoningTokens > 0 && { thoughtsTokenCount: reasoningTokens }),
    ...(cacheWriteTokens > 0 && { cacheWriteTokenCount: cacheWriteTokens }),
    ...(parts.cacheWrite1h > 0 && { cacheWrite1hTokenCount: parts.cacheWrite1h }),
    ...(input.length > 0 && { promptTokensDetails: input }),
    ...(cached.length > 0 && { cacheTokensDetails: cached }),
    ...(output.length > 0 && { candidatesTokensDetails: output }),
  };
}

function modalities(tokens: Record<'audio' | 'image' | 'video', number>): Fields[] {
  return Object.entries(tokens)
    .filter(([, tokenCount]) => tokenCount > 0)
    .map(([name, tokenCount]) => ({ modality: name.toUpperCase(), tokenCount }));
}
