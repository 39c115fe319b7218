import { rm } from 'node:fs/promises';
import path from 'node:path';
import { readJson, writePrivateJson } from './private-file.ts';

/** `<state>/credentials.json`: the URL of the gateway and its keys. */
export interface LocalCredentials {
  url: string;
  owner_key: string;
  tenant_id: string;
  tenant_slug: string;
  admin_key: string;
  user_key: string;
  /** The demo agent's slug: `model: "agent:<agent_key>"`. */
  agent_key: string;
}

/**
 * Stores credentials. `keep` writes each to a draft as soon as it exists, so an interrupted start can continue; `write`
 * creates `credentials.json` when all exist.
 */
export class CredentialsFile {
  readonly #file: string;
  readonly #draft: string;

  constructor(stateFolder: string) {
    this.#file = path.join(stateFolder, 'credentials.json');
    this.#draft = path.join(stateFolder, 'credentials.draft.json');
  }

  async read(): Promise<Partial<LocalCredentials>> {
    // Only this class writes both files, so their shape is known.
    const [written, draft] = (await Promise.all([readJson(this.#file), readJson(this.#draft)])) as [
      Partial<LocalCredentials> | undefined,
      Partial<LocalCredentials> | undefined,
    ];
    return { ...written, ...draft };
  }

  async keep(known: Partial<LocalCredentials>): Promise<void> {
    await writePrivateJson(this.#draft, known);
  }

  async write(credentials: LocalCredentials): Promise<void> {
    await writePrivateJson(this.#file, credentials);
    await rm(this.#draft, { force: true });
  }
}
