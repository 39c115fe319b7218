/** Leads from a part of an agent back to the agent. */
export function AgentLink({ id }: { id: string }) {
  return (
    <p class="actions">
      <a class="button" href={`/app/agents/${id}`}>
        Agent
      </a>
    </p>
  );
}
