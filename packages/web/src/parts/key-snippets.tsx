import { Snippet } from './new-secret.tsx';

/** A new key, ready to paste into the most common programs. */
export function KeySnippets({ secret }: { secret: string }) {
  const { origin } = location;
  const body = '{"model": "MODEL", "messages": [{"role": "user", "content": "Say hello."}]}';
  const snippets = {
    curl: `curl -sS ${origin}/v1/chat/completions \\
  -H 'Authorization: Bearer ${secret}' -H 'Content-Type: application/json' \\
  -d '${body}'`,
    'OpenAI SDK': `export OPENAI_BASE_URL=${origin}/v1
export OPENAI_API_KEY=${secret}`,
    'Claude Code': `export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN=${secret}
export ANTHROPIC_MODEL=MODEL
claude`,
    Codex: `export GATEHOUSE_KEY=${secret}
codex -c model=MODEL -c model_provider=gatehouse -c 'model_providers.gatehouse={ name = "Gatehouse", base_url = "${origin}/v1", env_key = "GATEHOUSE_KEY", wire_api = "responses" }'`,
  };
  return (
    <>
      {Object.entries(snippets).map(([program, text]) => (
        <section key={program}>
          <h3>{program}</h3>
          <Snippet label={program} text={text} />
        </section>
      ))}
      <p class="faint">MODEL is an id of the catalogue, or agent:KEY for an agent.</p>
    </>
  );
}
