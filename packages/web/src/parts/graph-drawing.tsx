import type { GraphNode, Subgraph } from '@gatehouse/contract/graph';
import { mostDrawn } from '../bounds.ts';
const [width, height] = [960, 540];
const centre = { x: width / 2, y: height / 2 };

interface Point {
  x: number;
  y: number;
}

/** Entities in rings around the requested ones, by their distance, with their relations as lines. */
export function GraphDrawing({ graph }: { graph: Subgraph }) {
  const nodes = graph.nodes.slice(0, mostDrawn);
  const places = placesOf(nodes);
  const lines = graph.edges.flatMap((edge) => {
    const [from, to] = [places.get(edge.source), places.get(edge.target)];
    return from === undefined || to === undefined ? [] : [{ edge, from, to }];
  });
  return (
    <figure class="chart">
      <svg
        class="graph"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label="Entities and their relations"
      >
        {lines.map(({ edge, from, to }) => (
          <line key={edge.id} x1={from.x} y1={from.y} x2={to.x} y2={to.y}>
            <title>{edge.type}</title>
          </line>
        ))}
        {nodes.map((node) => (
          <Entity key={node.id} node={node} place={places.get(node.id) ?? centre} />
        ))}
      </svg>
      <figcaption>
        {nodes.length < graph.nodes.length
          ? `The ${mostDrawn} nearest of ${graph.nodes.length} entities`
          : 'Each ring is one relation further away'}
      </figcaption>
    </figure>
  );
}

function Entity({ node: { name, type, distance }, place: { x, y } }: { node: GraphNode; place: Point }) {
  const label = name.length > 24 ? `${name.slice(0, 23)}…` : name;
  return (
    <g>
      <circle cx={x} cy={y} r={distance === 0 ? 7 : 5}>
        <title>{`${name} (${type})`}</title>
      </circle>
      <text x={x} y={y - 10} text-anchor="middle">
        {label}
      </text>
    </g>
  );
}

/** The places of nodes by their ids: a single one in the middle, others evenly on their rings. */
function placesOf(nodes: readonly GraphNode[]): Map<string, Point> {
  const rings = Map.groupBy(nodes, ({ distance }) => distance);
  const first = rings.get(0)?.length === 1 ? 0 : 1;
  const farthest = Math.max(0, ...rings.keys()) + first;
  // Names need more room at the sides.
  const step = { x: (centre.x - 100) / Math.max(1, farthest), y: (centre.y - 40) / Math.max(1, farthest) };
  const places = new Map<string, Point>();
  for (const [distance, ring] of rings)
    ring.forEach(({ id }, index) => {
      // Each ring begins a little later, so names do not stand in one line.
      const angle = (index / ring.length) * 2 * Math.PI + distance * 0.5;
      const ringNumber = distance + first;
      places.set(id, {
        x: centre.x + ringNumber * step.x * Math.cos(angle),
        y: centre.y + ringNumber * step.y * Math.sin(angle),
      });
    });
  return places;
}
