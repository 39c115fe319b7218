import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chart, render, type Values } from './helm.ts';
import { named, nameOf, type Manifest } from './manifests.ts';

let copy: string;

// Helm shows the notes of an install alone, so a copy of the chart has them in a ConfigMap.
beforeAll(() => {
  copy = mkdtempSync(path.join(tmpdir(), 'gatehouse-notes-'));
  cpSync(chart, copy, { recursive: true, dereference: true });
  const notes = readFileSync(path.join(chart, 'templates/NOTES.txt'), 'utf8');
  writeFileSync(path.join(copy, 'templates/_notes.tpl'), `{{ define "notes" }}${notes}{{ end }}`);
  writeFileSync(
    path.join(copy, 'templates/notes.yaml'),
    'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: notes }\ndata: { text: {{ include "notes" . | toJson }} }\n',
  );
});
afterAll(() => rmSync(copy, { recursive: true }));

function notes(values: Values): { text: string; manifests: Manifest[] } {
  const manifests = render(values, copy);
  return { text: named(manifests, 'ConfigMap', 'notes').data?.text ?? '', manifests };
}

describe('the notes after an install', () => {
  it('name objects that are there: the Service to reach, and the Deployment that makes the first owner key', () => {
    const { text, manifests } = notes({ service: { port: 8000 } });
    const [, service = '', port] = /port-forward service\/(\S+) 8080:(\d+)/.exec(text) ?? [];
    expect(named(manifests, 'Service', service).spec?.ports?.map((entry) => String(entry.port))).toEqual([
      port,
    ]);
    const [, deployment = '', command] = /exec deploy\/(\S+) -- (.*)/.exec(text) ?? [];
    expect(nameOf(named(manifests, 'Deployment', deployment))).toBe('gatehouse-tenant');
    expect(command).toBe('node -C dist src/bootstrap.js');
    expect(text).toContain('Back it up');
    expect(text).toContain('No provider');
  });

  it('say where an Ingress or a Gateway leads, and nothing of what the operator has seen to', () => {
    const ingress = { enabled: true, hosts: ['ai.example.com'], tls: [{ hosts: ['ai.example.com'] }] };
    const { text } = notes({
      ingress,
      providers: { existingSecret: 'keys' },
      secrets: { existing: 'ours' },
    });
    expect(text).toContain('\n  https://ai.example.com\n');
    expect(text).not.toMatch(/port-forward|No provider|Back it up/);
    const route = { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['ai.example.org'] };
    expect(notes({ httpRoute: route }).text).toContain('ai.example.org');
  });
});
