import type { DialectName } from '@gatehouse/contract/dialects';
import type { ClientSurface } from './client-surface.ts';
import { anthropicMessagesSurface } from './anthropic-messages/surface.ts';
import { geminiSurface } from './gemini/surface.ts';
import { openAiChatSurface } from './openai-chat/surface.ts';
import { openAiResponsesSurface } from './openai-responses/surface.ts';

/** The light registry of dialects, for the edge and for servers of HTTP: it loads no readers or translation. */
export const clientSurfaces: Readonly<Record<DialectName, ClientSurface>> = {
  chat: openAiChatSurface,
  responses: openAiResponsesSurface,
  messages: anthropicMessagesSurface,
  gemini: geminiSurface,
};
