import { describe, expect, it } from '@jest/globals';
import { ApiError } from './api-error.ts';
import { joinPages, type ListFile } from './list-csv.ts';

interface Page {
  text: string;
  rows: number;
  next?: string;
  type?: string;
}

const names = 'id,name\r\n';

/** The file of these pages, and the URLs and the progress that it was read with. */
async function join(
  pages: Record<string, Page>,
  most?: { rows: number; bytes: number },
): Promise<{ file: ListFile; text: string; read: string[]; progress: number[] }> {
  const [read, progress]: [string[], number[]] = [[], []];
  const file = await joinPages(
    '/v1/agents?limit=200',
    (url) => {
      read.push(url);
      const { text = '', rows = 0, next, type = 'text/csv; charset=utf-8' } = pages[url] ?? {};
      const headers = {
        'content-type': type,
        'content-disposition': 'attachment; filename="agents.csv"',
        'x-gateway-rows': String(rows),
        ...(next !== undefined && { link: `<${next}>; rel="next"` }),
      };
      return Promise.resolve(new Response(text, { headers }));
    },
    { onRows: (rows) => void progress.push(rows), ...(most && { most }) },
  );
  return { file, text: await file.content.text(), read, progress };
}

const two: Record<string, Page> = {
  '/v1/agents?limit=200': { text: `${names}1,"é\r\n"\r\n2,b\r\n`, rows: 2, next: '/v1/agents?cursor=a' },
  '/v1/agents?cursor=a': { text: `${names}3,c\r\n`, rows: 1 },
};

describe('a list as a file', () => {
  it('has the rows of all pages, with the names of columns once', async () => {
    const { file, text, read, progress } = await join(two);
    expect(text).toBe(`${names}1,"é\r\n"\r\n2,b\r\n3,c\r\n`);
    expect(file).toMatchObject({ name: 'agents.csv', rows: 3, hasMore: false });
    expect([read, progress]).toEqual([Object.keys(two), [2, 3]]);
  });

  it.each([
    ['\ufeff', '\ufeff'],
    ['\ufeff', ''],
    ['', '\ufeff'],
  ])('begins with the mark of UTF-8 if its first page does: %j, %j', async (first, second) => {
    const { file, text } = await join({
      '/v1/agents?limit=200': { text: `${first}${names}1,é\r\n`, rows: 1, next: '/v1/agents?cursor=a' },
      '/v1/agents?cursor=a': { text: `${second}${names}3,c\r\n`, rows: 1 },
    });
    expect(text).toBe(`${names}1,é\r\n3,c\r\n`);
    const bytes = Buffer.from(await file.content.arrayBuffer());
    expect(bytes.toString()).toBe(`${first}${names}1,é\r\n3,c\r\n`);
  });

  it.each([
    ['rows', { rows: 2, bytes: 1_000 }],
    ['bytes', { rows: 1_000, bytes: 10 }],
  ])('ends at its most %s, and says that there are more', async (_name, most) => {
    const { file, read } = await join(two, most);
    expect(file).toMatchObject({ rows: 2, hasMore: true });
    expect(read).toEqual(['/v1/agents?limit=200']);
  });

  it('that ends with the last page at its bound has no more', async () => {
    expect((await join(two, { rows: 3, bytes: 1_000 })).file).toMatchObject({ rows: 3, hasMore: false });
  });

  // A service of an older release answers with JSON whatever a client accepts.
  it.each(Object.keys(two))('is none when a page is not CSV: %s', async (url) => {
    const page = { text: '{"data":[]}', rows: 0, type: 'application/json' };
    await expect(join({ ...two, [url]: page })).rejects.toThrow(ApiError);
  });

  it('is none when the columns change on the way', async () => {
    const changed = { ...two, '/v1/agents?cursor=a': { text: 'id,name,new\r\n', rows: 0 } };
    await expect(join(changed)).rejects.toThrow(ApiError);
  });
});
