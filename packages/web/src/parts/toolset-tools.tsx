import type { WireToolset } from '@gatehouse/contract/toolsets';
import { useState } from 'preact/hooks';
import { useItems } from '../api/use-answer.ts';
import { Drawer } from './drawer.tsx';
import { EmptyText } from './empty-state.tsx';
import { TextField } from './fields.tsx';
import { KnownAnswer } from './known-answer.tsx';

/** The tools of a toolset as the person gets them, behind a button, with a search. */
export function ToolsetTools({ toolset: { id, name } }: { toolset: WireToolset }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" aria-label={`Tools of ${name}`} onClick={() => setOpen(true)}>
        Tools
      </button>
      {isOpen ? (
        <Drawer title={`Tools of ${name}`} onClose={() => setOpen(false)}>
          <ToolList id={id} />
        </Drawer>
      ) : null}
    </>
  );
}

function ToolList({ id }: { id: string }) {
  const [q, setQ] = useState('');
  const query = q.trim() === '' ? {} : { q: q.trim() };
  const known = useItems('GET /v1/toolsets/{toolset}/tools', { params: { toolset: id }, query });
  return (
    <>
      <p class="faint">
        As you get them: others see their own agents, and their tools at servers with logins.
      </p>
      <TextField label="Search" value={q} onChange={setQ} maxLength={500} />
      <KnownAnswer known={known}>
        {(tools) =>
          tools.length === 0 ? (
            <EmptyText text={q === '' ? 'It offers you no tool.' : 'No tool has these words.'} />
          ) : (
            <ul class="tools">
              {tools.map((tool) => (
                <li key={tool.name}>
                  <code>{tool.name}</code> {tool.read_only ? <span class="faint">only reads</span> : null}
                  <p>{tool.description}</p>
                </li>
              ))}
            </ul>
          )
        }
      </KnownAnswer>
    </>
  );
}
