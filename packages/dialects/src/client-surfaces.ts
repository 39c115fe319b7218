import type { DialectName } from '@gatehouse/contract/dialects';
import type { ClientSurface } from './client-surface.ts';
import { surface as messages } from './anthropic-messages/surface.ts';
import { surface as gemini } from './gemini/surface.ts';
import { surface as chat } from './openai-chat/surface.ts';
import { surface as responses } from './openai-responses/surface.ts';

/** The light registry of dialects, for the edge and for servers of HTTP: it loads no readers or translation. */
export const clientSurfaces: Readonly<Record<DialectName, ClientSurface>> = {
  chat,
  responses,
  messages,
  gemini,
};
