import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { scriptedInstalls } from './install-scripts.ts';

describe('installs of packages', () => {
  it('run no scripts of packages, neither in images nor in the repository', () => {
    for (const file of ['deploy/Dockerfile', 'Makefile']) {
      const text = readFileSync(path.join(import.meta.dirname, '../..', file), 'utf8');
      expect(text).toContain('npm ci');
      expect({ file, scripted: scriptedInstalls(text) }).toEqual({ file, scripted: [] });
    }
  });

  it('are found where they would', () => {
    const text =
      '# npm ci\nRUN npm ci --omit=dev \\\n  --ignore-scripts\nRUN npm ci -w x && npm install y --ignore-scripts\n';
    expect(scriptedInstalls(text)).toEqual(['npm ci -w x']);
    expect(scriptedInstalls('RUN npm ci --omit=dev\nRUN echo --ignore-scripts\n')).toEqual([
      'npm ci --omit=dev',
    ]);
    expect(scriptedInstalls('RUN npm install x && npm ci --ignore-scripts')).toEqual(['npm install x']);
  });
});
