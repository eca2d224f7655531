// What a client says to each question.
export const answer = { action: "accept", content: { username: "u", email: "u@example.com", name: "u" } };
