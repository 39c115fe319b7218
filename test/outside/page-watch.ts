import type { Page } from 'puppeteer-core';

/** Collects what the browser reports about a faulty page. `expected`: messages that are no fault. */
export class PageWatch {
  readonly requests: string[] = [];
  readonly complaints: string[] = [];
  readonly #origin: string;

  constructor(page: Page, origin: string, expected: RegExp) {
    this.#origin = origin;
    page.on('request', (request) => this.requests.push(request.url()));
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('console', (message) => {
      const said = `${message.text()} ${message.location().url ?? ''}`.trim();
      if (['error', 'warn'].includes(message.type()) && !expected.test(said)) this.complaints.push(said);
    });
  }

  async start(page: Page): Promise<void> {
    await page.exposeFunction('reportViolation', (text: string) => this.complaints.push(text));
    // Text, since it runs in the browser, whose types are not those of Node.
    await page.evaluateOnNewDocument(`
      document.addEventListener('securitypolicyviolation', (event) =>
        reportViolation([event.violatedDirective, event.blockedURI, event.sourceFile, event.lineNumber].join(' ')));
    `);
  }

  /** Requests to other origins. */
  get elsewhere(): string[] {
    return this.requests.filter((url) => !/^(data|blob):/.test(url) && new URL(url).origin !== this.#origin);
  }
}
