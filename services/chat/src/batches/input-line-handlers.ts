import { parseBody, readPart } from '@gatehouse/http/body';
import { AppError } from '@gatehouse/kit/errors';
import { isFields } from '@gatehouse/kit/fields';
import { linesOf, type Line } from '@gatehouse/kit/json-lines';
import type { Target } from '../catalogue/target.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import { memberRanges, parsedPart, wholeOf } from '@gatehouse/dialects/wire/json-parts';
import { LargeWork } from '../shared/large-work.ts';
import { Pieces } from '@gatehouse/dialects/wire/pieces';
import { kindsByUrl, RequestSum, type BatchKind, CustomIds, noShare, unchanged } from './batch-requests.ts';
import type { LineGuardrails } from './line-guardrails.ts';
import { maxRequestLineBytes } from '../bounds.ts';

/** As OpenAI has it. */
const maxLines = 50_000;
const maxCustomIdChars = 512;

/** A signature may be another tenant's, and no thought is kept for a batch. */
const keepsSignature = (): boolean => false;

/** The requests of an uploaded file. */
export class InputLines {
  readonly #targetFor: (model: string, api: BatchKind['api']) => Target;
  readonly #tenantId: string;
  readonly #guardrails: Pick<LineGuardrails, 'passed'>;
  readonly #ids = new CustomIds();
  #sum: RequestSum | null = null;

  /** `targetFor`: finds the deployment of the first request's model. */
  constructor(
    targetFor: (model: string, api: BatchKind['api']) => Target,
    { tenantId, guardrails }: { tenantId: string; guardrails: Pick<LineGuardrails, 'passed'> },
  ) {
    this.#targetFor = targetFor;
    this.#tenantId = tenantId;
    this.#guardrails = guardrails;
  }

  /** The requests so far; null before the first. */
  get requests(): RequestSum | null {
    return this.#sum;
  }

  /** Each line for the provider in pieces, once it is checked. Throws a 400 naming the line. */
  async *checked(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    for await (const line of linesOf(file, maxRequestLineBytes)) {
      if (this.#ids.size >= maxLines)
        throw new AppError('invalid_value', `The file has more than ${maxLines} lines.`, { param: 'file' });
      // A line is in memory several times while it is checked.
      const work = { tenantId: this.#tenantId, bytes: line.bytes.length };
      const checked = await LargeWork.during(work, () => this.#checked(line)).catch((error: unknown) => {
        throw named(error, line);
      });
      yield* checked.all;
    }
    if (this.#sum === null) throw new AppError('invalid_value', 'The file has no lines.', { param: 'file' });
  }

  async #checked({ bytes }: Line): Promise<Pieces> {
    const { id, url, body } = await this.#partsOf(bytes);
    const kind = kindsByUrl.get(url);
    if (kind === undefined)
      throw new AppError('invalid_value', `url must be one of ${[...kindsByUrl.keys()].join(', ')}.`, {
        param: 'url',
      });
    this.#note(id);
    const passed = await this.#guardrails.passed(body, kind.api, await this.#target(kind, url, body));
    const tenantId = this.#tenantId;
    const parsed = await parseBody(passed, tenantId);
    return readPart(passed, tenantId, () => {
      const request = dialects[kind.api].readRequest(kind.operation, passed, parsed);
      if (this.#sum === null) throw new Error('the first request names the model');
      this.#sum.add(request, url, isFields(parsed) ? parsed : {});
      const { upstreamModel, reasoning: reasons } = this.#sum.model;
      const rewrite = { ...unchanged, keepsSignature, model: upstreamModel, reasons };
      const rewritten = request.source(noShare).rewritten(rewrite);
      const head = JSON.stringify({ custom_id: id, method: 'POST', url });
      return new Pieces([Buffer.from(`${head.slice(0, -1)},"body":`), ...rewritten.all, Buffer.from('}\n')]);
    });
  }

  /** The deployment of the first request's model. */
  async #target({ api, operation }: BatchKind, url: string, body: Buffer): Promise<Target> {
    if (this.#sum !== null) return this.#sum.target;
    const parsed = await parseBody(body, this.#tenantId);
    return readPart(body, this.#tenantId, () => {
      const { model } = dialects[api].readRequest(operation, body, parsed);
      this.#sum = new RequestSum(this.#targetFor(model, api), { model, url });
      return this.#sum.target;
    });
  }

  async #partsOf(line: Buffer): Promise<{ id: string; url: string; body: Buffer }> {
    const members = await memberRanges(line, wholeOf(line), this.#tenantId);
    if (members === null) throw new AppError('invalid_json', 'it is no JSON object.', { param: 'file' });
    const text = async (name: string): Promise<string> => {
      const range = members.get(name);
      const isShort = range !== undefined && range.until - range.from <= 8 * maxCustomIdChars;
      const value = isShort ? await parsedPart(line, range, this.#tenantId) : undefined;
      if (typeof value === 'string' && value !== '' && value.length <= maxCustomIdChars) return value;
      throw new AppError(
        'invalid_value',
        `${name} must be a text of at most ${maxCustomIdChars} characters.`,
        {
          param: name,
        },
      );
    };
    const [id, method, url] = [await text('custom_id'), await text('method'), await text('url')];
    if (method !== 'POST') throw new AppError('invalid_value', 'method must be POST.', { param: 'method' });
    const body = members.get('body');
    if (body === undefined)
      throw new AppError('missing_required_parameter', 'body is missing.', { param: 'body' });
    return { id, url, body: line.subarray(body.from, body.until) };
  }

  #note(id: string): void {
    if (!this.#ids.add(id))
      throw new AppError('invalid_value', 'custom_id must differ from those of other lines.', {
        param: 'custom_id',
      });
  }
}

function named(error: unknown, { number }: Line): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, message, param, headers, cause } = error;
  return new AppError(code, `Line ${number}: ${message}`, { param: param ?? 'file', headers, cause });
}
