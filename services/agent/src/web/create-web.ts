import type { Egress } from '@gatehouse/egress/egress';
import type { Shell } from '@gatehouse/shell/shell';
import { PageTexts } from './page-texts.ts';
import { WebFetch, type WebFetchOptions } from './web-fetch.ts';

/** The tool `web_fetch`. */
export function createWeb(
  { log }: Shell,
  { egress, cookies }: { egress: Egress; cookies: WebFetchOptions['cookies'] },
) {
  const pages = new PageTexts(log);
  return { parts: [pages], webFetch: new WebFetch({ egress, pages, cookies }) };
}
