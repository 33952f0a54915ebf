"""For the data custodian alone: what is made here from exact counts must not leave."""
